import { describe, expect, it, onTestFinished } from "vitest";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { intercepted, type StoreCall } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { virtualWorld } from "../testing/virtual-world.ts";
import { workflow } from "../workflow/workflow.ts";
import { createEngine, type Engine } from "./engine.ts";

const waits = workflow("waits", async (ctx) => (await ctx.listen<number>("go")).value);

type Method = StoreCall["method"];

/** The code of the error that a call rejects with. */
function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "no error",
    (error: { readonly code: string }) => error.code,
  );
}

/** Which calls have no answer, until `end` is called. */
function silence() {
  let silent: (method: Method) => boolean = () => false;
  const held: Array<() => void> = [];
  const end = (): void => {
    silent = () => false;
    for (const release of held.splice(0)) release();
  };
  // Engines that are shut down would wait for an answer.
  onTestFinished(end);
  return {
    through: (store: Store): Store =>
      intercepted(store, async (call, proceed) => {
        if (silent(call.method)) await new Promise<void>((resolve) => held.push(resolve));
        return await proceed();
      }),
    begin: (which: (method: Method) => boolean) => {
      silent = which;
    },
    end,
  };
}

function storeEvents(engine: Engine): string[] {
  const seen: string[] = [];
  for (const kind of ["store.down", "store.up", "engine.broken"] as const) engine.on(kind, () => seen.push(kind));
  return seen;
}

/** Every public call that concerns a run, an event or a list. */
function callsOf(engine: Engine, runId: string): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    start: () => engine.start(waits, undefined),
    send: () => engine.send(runId, "go", 1),
    emit: () => engine.emit("topic", 1),
    cancel: () => engine.cancel(runId),
    pause: () => engine.pause(runId),
    resume: () => engine.resume(runId),
    rewind: () => engine.rewind(runId, 0),
    retry: () => engine.retry(runId),
    fork: () => engine.fork(runId, null),
    migrate: () => engine.migrate(runId, 2),
    explain: () => engine.explain(runId),
    get: () => engine.get(runId),
    list: () => engine.list(),
    status: () => engine.run(runId).status(),
    journal: () => engine.run(runId).journal(),
    result: () => engine.run(runId).result(),
    recover: () => engine.recover(),
    "deadLetters.list": () => engine.deadLetters.list(),
    "deadLetters.get": () => engine.deadLetters.get("x"),
    "deadLetters.replay": () => engine.deadLetters.replay("x"),
    "deadLetters.remove": () => engine.deadLetters.remove("x"),
    "documents.get": () => engine.documents.get("task", "x"),
    "documents.list": () => engine.documents.list({ kind: "task" }),
  };
}

describe.each(TEST_STORES)("an outage of the store $name", ({ create }) => {
  it("every call rejects with STORE_UNAVAILABLE within storageTimeout when the store is silent", async () => {
    const cluster = await create(onTestFinished);
    const { through, begin, end } = silence();
    const engine = await cluster.engine({ workflows: [waits], through, storageTimeout: "4 s" });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    const seen = storeEvents(engine);
    begin(() => true);
    const names = Object.entries(callsOf(engine, run.id));
    const codes = names.map(async ([name, call]) => [name, await codeOf(call())]);
    const answered: unknown[] = [];
    for (const code of codes) void code.then((each) => answered.push(each));
    await cluster.world.advance("3 s");
    expect(answered).toEqual([]);
    await cluster.world.advance("1500 ms");
    expect(answered).toHaveLength(names.length);
    expect(await Promise.all(codes)).toEqual(names.map(([name]) => [name, "STORE_UNAVAILABLE"]));
    expect(seen).toEqual(["store.down"]);
    end();
  });

  it("store.up follows a commit that succeeded, and not a read or a heartbeat", async () => {
    const cluster = await create(onTestFinished);
    const { through, begin, end } = silence();
    const engine = await cluster.engine({ workflows: [waits], through, storageTimeout: "2 s" });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    const seen = storeEvents(engine);
    begin((method) => method === "commit");
    for (let time = 0; time < 5; time += 1) {
      const code = codeOf(run.send("go", 1));
      expect(await run.status()).toBe("suspended");
      await cluster.world.advance("5 s");
      expect(await code).toBe("STORE_UNAVAILABLE");
    }
    expect(seen).toEqual(["store.down"]);
    end();
    await cluster.world.advance("5 s");
    expect(seen).toEqual(["store.down", "store.up"]);
    expect((await engine.documents.list({ kind: "pawl.probe" })).items).toEqual([]);
    await run.send("go", 1);
    expect(await cluster.result(run)).toBe(1);
  });

  it("an idle engine and a client notice that the store is back", async () => {
    const cluster = await create(onTestFinished);
    let cut = false;
    const through = (store: Store): Store =>
      intercepted(store, async (_, proceed) => {
        if (cut) throw new StoreError("STORE_UNAVAILABLE", "notApplied", "cut");
        return await proceed();
      });
    const options = { through, storageRetryPolicy: { maxAttempts: 2, initialMs: 10 } };
    const engines = [await cluster.engine({ ...options, workflows: [waits] }), await cluster.engine(options)];
    const seen = engines.map(storeEvents);
    cut = true;
    const codes = engines.map((engine) => codeOf(engine.get("r")));
    await cluster.world.advance("10 s");
    expect(await Promise.all(codes)).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
    expect(seen).toEqual([["store.down"], ["store.down"]]);
    cut = false;
    await cluster.world.advance("5 s");
    const downAndUp = ["store.down", "store.up"];
    expect(seen).toEqual([downAndUp, downAndUp]);
  });
});

describe("an error of the store that is not a store error", () => {
  it.each(["commit", "heartbeat", "claim", "nextDueAt", "load"] as const)(
    "a bug in %s stops the engine and emits engine.broken",
    async (method) => {
      const world = virtualWorld();
      let wrong = false;
      const lines: string[] = [];
      const store = intercepted(memoryStore(), async (call, proceed) => {
        if (wrong && call.method === method) throw new TypeError("a bug of the store");
        return await proceed();
      });
      const engine = await createEngine({
        store,
        workflows: [waits],
        hotRuns: 0,
        log: (level, text) => lines.push(`${level}: ${text}`),
        world,
      });
      const run = await engine.start(waits, undefined);
      await world.settle();
      const seen = storeEvents(engine);
      wrong = true;
      await codeOf(run.send("go", 1));
      await world.advance("20 s");
      expect(seen).toEqual(["engine.broken"]);
      expect(lines).toContain("error: engine stopped: invariant violated, nothing invalid was written");
      await expect(engine.start(waits, undefined)).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
      await engine.shutdown({ drainMs: 0 });
    },
  );

  it.each([
    [70, [70]],
    [undefined, []],
  ])("exitCodeWhenBroken %s ends the process with exit codes %j", async (exitCodeWhenBroken, exits) => {
    const world = { ...virtualWorld(), exit: (code: number) => void seen.push(code) };
    const seen: unknown[] = [];
    let wrong = false;
    const store = intercepted(memoryStore(), async (call, proceed) => {
      if (wrong && call.method === "commit") throw new TypeError("a bug of the store");
      return await proceed();
    });
    const options = { store, workflows: [waits], log: () => undefined, world };
    const engine = await createEngine(exitCodeWhenBroken === undefined ? options : { ...options, exitCodeWhenBroken });
    engine.on("engine.broken", () => seen.push("engine.broken"));
    wrong = true;
    expect(await codeOf(engine.emit("topic", 1))).toBe("ENGINE_BROKEN");
    await world.settle();
    expect(seen).toEqual(["engine.broken", ...exits]);
    await engine.shutdown({ drainMs: 0 });
  });
});
