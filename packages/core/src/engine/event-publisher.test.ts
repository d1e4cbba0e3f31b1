import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type EngineEvent, type EngineEventKind, type Store, StoreError, workflow } from "../index.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const KINDS: readonly EngineEventKind[] = [
  "run.started",
  "run.claimed",
  "run.suspended",
  "run.woken",
  "run.continued",
  "run.resumed",
  "run.released",
  "run.paused",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.lost",
  "record",
  "unhandledRejection",
  "store.down",
  "store.up",
  "worker.lapsed",
  "engine.broken",
];

function listenToAll(engine: Engine): EngineEvent[] {
  const events: EngineEvent[] = [];
  for (const kind of KINDS) engine.on(kind, (event) => events.push(event));
  return events;
}

const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

describe.each(TEST_STORES)("engine events, on the store $name", ({ create, staysHot }) => {
  const kindsOf = (events: readonly EngineEvent[]): string[] => events.map((event) => event.kind);

  it.runIf(staysHot)(
    "a run's start, suspension, wake-up, record and completion emit events in this order",
    async () => {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [waits] });
      const events = listenToAll(engine);
      const run = await engine.start(waits, undefined);
      await cluster.world.settle();
      await run.send("go", 1);
      await cluster.result(run);
      expect(kindsOf(events)).toEqual(["run.started", "run.suspended", "run.woken", "record", "run.completed"]);
      expect(events[3]).toMatchObject({ runId: run.id, workflow: "waits", record: { seq: 1, location: "go" } });
      expect(events[4]).toMatchObject({ runId: run.id, workflow: "waits", error: null });
    },
  );

  it("claims, failures, continuations, pauses, resumes and cancels emit events", async () => {
    const cluster = await create(onTestFinished);
    const failing = workflow("failing", { codeErrors: "fail" }, async () => {
      throw new TypeError("no");
    });
    const again = workflow(
      "again",
      async (ctx, n: number): Promise<number> => (n === 0 ? 0 : await ctx.continueAs(n - 1)),
    );
    const client = await cluster.engine();
    await client.start(failing, undefined);
    const engine = await cluster.engine({ workflows: [failing, again, waits] });
    const events = listenToAll(engine);
    await cluster.world.advance("1 s");
    expect(kindsOf(events)).toEqual(["run.claimed", "run.failed"]);
    expect(events[1]).toMatchObject({ error: { name: "TypeError", message: "no" } });
    events.length = 0;
    await cluster.result(await engine.start(again, 2));
    expect(kindsOf(events)).toEqual(["run.started", "run.continued", "run.continued", "run.completed"]);
    events.length = 0;
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    await run.pause("why");
    await run.resume();
    await cluster.world.advance("1 s");
    await run.cancel("enough");
    await cluster.world.settle();
    expect(kindsOf(events)).toEqual([
      "run.started",
      "run.suspended",
      "run.paused",
      "run.resumed",
      "run.claimed",
      "run.suspended",
      "run.cancelled",
    ]);
    expect(events[2]).toMatchObject({ error: { message: "why" } });
    expect(events[6]).toMatchObject({ error: { message: "enough" } });
  });

  it("an unreachable store emits store.down, claiming stops, and store.up follows when it is back", async () => {
    const cluster = await create(onTestFinished);
    let cut = false;
    const through = (store: Store): Store =>
      intercepted(store, async (_, proceed) => {
        if (cut) throw new StoreError("STORE_UNAVAILABLE", "notApplied", "cut");
        return await proceed();
      });
    const engine = await cluster.engine({
      workflows: [waits],
      through,
      storageRetryPolicy: { maxAttempts: 3, initialMs: 10 },
    });
    const client = await cluster.engine();
    const events = listenToAll(engine);
    cut = true;
    const refused = engine.start(waits, undefined, { id: "r" }).catch((error: { code: string }) => error.code);
    await cluster.world.advance("1 s");
    expect(await refused).toBe("STORE_UNAVAILABLE");
    expect(kindsOf(events)).toEqual(["store.down"]);
    const other = await client.start(waits, undefined);
    await cluster.world.advance("1 s");
    expect(await other.status()).toBe("pending");
    cut = false;
    await cluster.world.advance("10 s");
    expect(kindsOf(events)).toContain("store.up");
    expect(await other.status()).toBe("suspended");
    expect(await (await engine.start(waits, undefined, { id: "r" })).status()).toMatch(/running|suspended/);
  });

  it("a violated invariant emits engine.broken, and the run continues on another worker", async () => {
    const cluster = await create(onTestFinished);
    let wrong = false;
    const broken = await cluster.engine({
      workflows: [waits],
      through: (store) =>
        intercepted(store, async (call, proceed) => {
          const answer = await proceed();
          return wrong && call.method === "commit" ? ({ answers: [], wakes: [] } as typeof answer) : answer;
        }),
    });
    const run = await broken.start(waits, undefined);
    await cluster.world.settle();
    const events = listenToAll(broken);
    wrong = true;
    const result = expect(run.result()).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    await expect(broken.emit("t", 1)).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    await result;
    expect(kindsOf(events)).toEqual(["engine.broken"]);
    await expect(broken.start(waits, undefined)).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    const other = await cluster.engine({ workflows: [waits] });
    await other.send(run.id, "go", 1);
    await cluster.world.advance("8 s");
    expect(await cluster.result(other.run(run.id))).toBe(1);
  });

  it("a listener that throws does not affect the engine or other listeners", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    for (const kind of KINDS) {
      engine.on(kind, () => {
        throw new Error(`in a listener of ${kind}`);
      });
    }
    const seen: string[] = [];
    engine.on("run.completed", () => seen.push("after"));
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    await run.send("go", 1);
    expect(await cluster.result(run)).toBe(1);
    expect(seen).toEqual(["after"]);
    expect(cluster.log.filter(({ text }) => text.includes("listener")).length).toBeGreaterThan(0);
  });

  it("a removed listener is not called again", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const seen: string[] = [];
    const off = engine.on("run.started", (event) => seen.push(event.runId));
    await engine.start(waits, undefined, { id: "a" });
    off();
    await engine.start(waits, undefined, { id: "b" });
    expect(seen).toEqual(["a"]);
  });
});

const ON_BUN = "bun" in process.versions;

describe.each(TEST_STORES)("unhandled rejections, on the store $name", ({ create, staysHot }) => {
  type Listener = (...args: unknown[]) => void;
  const EVENTS = ["unhandledRejection", "uncaughtException"] as const;
  const removed: Array<readonly [(typeof EVENTS)[number], Listener]> = [];

  // The test runner listens too, and would report the rejection as its own. With `--unhandled-rejections=strict` it arrives as
  // an uncaught exception first.
  beforeEach(() => {
    for (const event of EVENTS) {
      for (const listener of process.listeners(event as "exit")) {
        removed.push([event, listener as Listener]);
        process.off(event, listener as Listener);
      }
    }
    process.on("uncaughtException", () => undefined);
  });
  afterEach(() => {
    for (const event of EVENTS) process.removeAllListeners(event);
    for (const [event, listener] of removed.splice(0)) process.on(event, listener);
  });

  // Bun does not report the async context in which a rejected promise was created.
  it.runIf(staysHot && !ON_BUN)(
    "an unhandled rejection in workflow code is reported with its run, and run and process continue (not on Bun)",
    async () => {
      const cluster = await create(onTestFinished);
      const careless = workflow("careless", async (ctx) => {
        void ctx.step("fails", () => Promise.reject(new Error("not awaited")), { retry: false });
        await ctx.step("works", () => 1);
        await ctx.sleep("1 s");
        return "done";
      });
      const engine = await cluster.engine({ workflows: [careless] });
      const events = listenToAll(engine);
      const runs = await Promise.all(Array.from({ length: 3 }, () => engine.start(careless, undefined)));
      await cluster.world.advance("2 s");
      for (const run of runs) expect(await cluster.result(run)).toBe("done");
      expect(events.filter((event) => event.kind === "unhandledRejection")).toMatchObject(
        runs.map((run) => ({ runId: run.id, error: { message: "not awaited" } })),
      );
      for (const run of runs)
        expect(cluster.log.some(({ level, fields }) => level === "error" && fields.run === run.id)).toBe(true);
    },
  );

  it.skipIf(ON_BUN)(
    "an unhandled rejection in a step body is reported with its run, even after the step ended (not on Bun)",
    async () => {
      const cluster = await create(onTestFinished);
      const careless = workflow("careless", async (ctx) => {
        await ctx.step("leaks", async () => {
          void (async () => {
            await Promise.resolve();
            throw new Error("leaked");
          })();
          return 1;
        });
        await ctx.sleep("1 s");
        return "done";
      });
      const engine = await cluster.engine({ workflows: [careless] });
      const events = listenToAll(engine);
      const run = await engine.start(careless, undefined);
      await cluster.world.advance("2 s");
      expect(await cluster.result(run)).toBe("done");
      expect(events.filter((event) => event.kind === "unhandledRejection")).toMatchObject([
        { runId: run.id, error: { message: "leaked" } },
      ]);
    },
  );

  it("an unhandled rejection during replay of a long journal is reported with its run", async () => {
    const cluster = await create(onTestFinished);
    const long = workflow("long", async (ctx) => {
      void Promise.reject(new Error("once more"));
      await Promise.all(Array.from({ length: 1_100 }, (_, n) => ctx.step(`s${n}`, () => n)));
      return (await ctx.listen("go")).value;
    });
    const first = await cluster.engine({ workflows: [long] });
    const run = await first.start(long, undefined);
    await cluster.world.settle();
    await first.shutdown();
    const engine = await cluster.engine({ workflows: [long] });
    const events = listenToAll(engine);
    await engine.send(run.id, "go", "done");
    await cluster.world.advance("2 s");
    expect(await engine.run(run.id).result()).toBe("done");
    expect(events.filter((event) => event.kind === "unhandledRejection")).toMatchObject([
      { runId: run.id, error: { message: "once more" } },
    ]);
  });

  it("a rejected loser of Promise.race is not an unhandled rejection", async () => {
    const cluster = await create(onTestFinished);
    const race = workflow("race", async (ctx) =>
      Promise.race([
        ctx.step("good", () => "good"),
        ctx.step("bad", () => Promise.reject(new Error("late")), { retry: false }),
      ]),
    );
    const engine = await cluster.engine({ workflows: [race] });
    const events = listenToAll(engine);
    expect(await cluster.result(await engine.start(race, undefined))).toBe("good");
    expect(events.filter((event) => event.kind === "unhandledRejection")).toEqual([]);
  });
});
