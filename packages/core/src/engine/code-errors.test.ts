import { AssertionError } from "node:assert";
import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type Ctx, checkReplay, type Workflow, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Code = (ctx: Ctx) => Promise<unknown>;

const PAUSED = { status: "paused", error: { code: "CODE_ERROR" } };

let refunds = 0;
let charges = 0;

const charge = async (ctx: Ctx): Promise<string> =>
  await ctx.step(
    "charge",
    () => {
      charges += 1;
      return "paid";
    },
    {
      rollback: () => {
        refunds += 1;
      },
    },
  );

const order = (code: Code, options: Workflow["options"] = {}): Workflow<undefined, unknown> =>
  workflow("order", options as object, async (ctx: Ctx, _: undefined) => await code(ctx));

/** Charges, then executes what a bad deploy has after it. */
const charging =
  (then: Code): Code =>
  async (ctx) => {
    await charge(ctx);
    return await then(ctx);
  };

const typo: Code = async () => (undefined as unknown as { id: string }).id;
const fixed = order(charging(async () => "done"));

describe.each(TEST_STORES)("a programming error in workflow code, on $name", ({ create }) => {
  async function started(code: Code, options: Workflow["options"] = {}) {
    charges = 0;
    refunds = 0;
    const cluster = await create(onTestFinished);
    const paused: string[] = [];
    const engine = await cluster.engine({ workflows: [order(code, options)] });
    engine.on("run.paused", ({ runId, error }) => paused.push(`${runId} ${(error as { code?: string })?.code}`));
    const run = await engine.start(order(code), undefined, { id: "r" });
    await cluster.world.advance("1 s");
    return { cluster, engine, run, paused };
  }

  const failing: ReadonlyArray<readonly [string, Code]> = [
    ["a TypeError", typo],
    ["a ReferenceError", async () => (globalThis as unknown as { eval(text: string): unknown }).eval("missing")],
    ["a RangeError", async () => "x".repeat(-1)],
    ["a SyntaxError", async () => JSON.parse("{")],
    [
      "an AssertionError",
      async () => {
        throw new AssertionError({ message: "must hold" });
      },
    ],
    ["a TypeError in a branch of a join", async (ctx) => await ctx.join("both", { a: typo, b: (c) => c.sleep(1) })],
    ["a TypeError in every branch of a race", async (ctx) => await ctx.race("any", { a: typo, b: typo })],
    ["a TypeError beside Promise.allSettled", async (ctx) => await Promise.any([typo(ctx), typo(ctx)])],
  ];

  it.each(failing)("%s after a step pauses the run, and undoes nothing", async (_, code) => {
    const { cluster, engine, paused } = await started(charging(code));
    expect(await engine.get("r")).toMatchObject(PAUSED);
    expect([charges, refunds]).toEqual([1, 0]);
    expect(paused).toEqual(["r CODE_ERROR"]);
    const lines = cluster.log.filter(({ level }) => level === "error");
    expect(lines).toMatchObject([{ fields: { run: "r", code: "CODE_ERROR", stack: expect.any(String) } }]);
    expect(String(lines[0]?.fields.error)).toContain("deploy fixed code, then resume the run");
    expect(await engine.explain("r")).toMatchObject({ status: "paused", why: { kind: "codeError" } });
  });

  it("a run that a TypeError has paused completes when fixed code is deployed and the run is resumed", async () => {
    const { cluster, engine } = await started(charging(typo));
    await engine.shutdown();
    const heir = await cluster.engine({ workflows: [fixed] });
    await cluster.world.advance("10 s");
    expect(await heir.get("r")).toMatchObject(PAUSED);
    await heir.resume("r");
    expect(await cluster.finish(heir.run("r"))).toBe("done");
    expect([charges, refunds]).toEqual([1, 0]);
  });

  it("a run that is resumed with the same mistake is paused again", async () => {
    const { cluster, engine } = await started(charging(typo));
    await engine.resume("r");
    await cluster.world.advance("1 s");
    expect(await engine.get("r")).toMatchObject(PAUSED);
    expect([charges, refunds]).toEqual([1, 0]);
  });

  it("a step that runs when the code throws a TypeError ends, is recorded, and does not run again", async () => {
    const runs: string[] = [];
    const both: (then: Code) => Code = (then) => async (ctx) => {
      const slow = ctx.step("slow", async () => {
        runs.push("slow");
        await new Promise<void>((resolve) => world?.clock.wakeAt(world.clock.now() + 3_000, resolve));
        return "slow";
      });
      await charge(ctx);
      await then(ctx);
      return await slow;
    };
    let world: Awaited<ReturnType<typeof create>>["world"] | null = null;
    const cluster = await create(onTestFinished);
    world = cluster.world;
    const engine = await cluster.engine({ workflows: [order(both(typo))] });
    await engine.start(order(typo), undefined, { id: "r" });
    await cluster.world.advance("1 s");
    expect((await engine.get("r"))?.status).not.toBe("paused");
    await cluster.world.advance("3 s");
    expect(await engine.get("r")).toMatchObject(PAUSED);
    await engine.shutdown();
    const heir = await cluster.engine({ workflows: [order(both(async () => null))] });
    await heir.resume("r");
    expect(await cluster.finish(heir.run("r"))).toBe("slow");
    expect(runs).toEqual(["slow"]);
  });

  it("a TypeError before the end of the journal pauses the run with CODE_ERROR, not as a divergence", async () => {
    const { cluster, engine } = await started(charging(async (ctx) => (await ctx.listen("go")).value));
    await engine.shutdown();
    const broken = await cluster.engine({ workflows: [order(typo)] });
    await broken.send("r", "go", "went");
    await cluster.world.advance("5 s");
    expect(await broken.get("r")).toMatchObject(PAUSED);
    await broken.shutdown();
    const heir = await cluster.engine({ workflows: [order(charging(async (ctx) => (await ctx.listen("go")).value))] });
    await heir.resume("r");
    expect(await cluster.finish(heir.run("r"))).toBe("went");
  });

  it.each<readonly [string, Code]>([
    [
      "a TypeError in a step body",
      async (ctx) => await ctx.step("bad", () => (undefined as unknown as { id: string }).id, { retry: false }),
    ],
    [
      "an error that wraps a TypeError",
      async (ctx) => {
        await typo(ctx).catch((cause: unknown) => {
          throw new Error("refused", { cause });
        });
      },
    ],
    [
      "an error of a class derived from TypeError",
      async () => {
        class Refused extends TypeError {}
        throw new Refused("no");
      },
    ],
    [
      "a CriticalError",
      async () => {
        throw new CriticalError("no");
      },
    ],
  ])("%s makes the run fail, and undoes its steps", async (_, code) => {
    const { engine } = await started(charging(code));
    expect((await engine.get("r"))?.status).toBe("failed");
    expect([charges, refunds]).toEqual([1, 1]);
  });

  it("a TypeError that the code catches does not pause the run", async () => {
    const { cluster, run } = await started(charging(async (ctx) => await typo(ctx).catch(() => "caught")));
    expect(await cluster.result(run)).toBe("caught");
  });

  it.each(["engine", "workflow"])("a TypeError makes the run fail when codeErrors of the %s is fail", async (level) => {
    refunds = 0;
    const cluster = await create(onTestFinished);
    const own = order(charging(typo), level === "workflow" ? { codeErrors: "fail" } : {});
    const engine = await cluster.engine({ workflows: [own], codeErrors: level === "workflow" ? "pause" : "fail" });
    const run = await engine.start(own, undefined);
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { name: "TypeError" } });
    expect(refunds).toBe(1);
  });

  it("a compensation that a TypeError has started continues in a worker whose codeErrors is pause", async () => {
    let refunded = 0;
    let hangs = true;
    const code: Code = async (ctx) => {
      const rollback = async (): Promise<void> => {
        if (hangs) await new Promise(() => undefined);
        refunded += 1;
      };
      await ctx.step("charge", () => "paid", { rollback });
      return await typo(ctx);
    };
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [order(code)], codeErrors: "fail" });
    await first.start(order(code), undefined, { id: "r" });
    await cluster.world.advance("1 s");
    expect((await first.get("r"))?.status).toBe("compensating");
    hangs = false;
    const heir = await cluster.takeOver(first, { workflows: [order(code)] });
    expect((await heir.get("r"))?.status).toBe("failed");
    expect(refunded).toBe(1);
  });

  it("a cancel of a run that a TypeError has paused undoes its steps", async () => {
    const { cluster, engine } = await started(charging(typo));
    expect(await engine.cancel("r")).toBe(true);
    await cluster.world.advance("2 s");
    expect((await engine.get("r"))?.status).toBe("cancelled");
    expect([charges, refunds]).toEqual([1, 1]);
  });

  it("a parent waits for a child that a TypeError has paused, and explain names the child and its status", async () => {
    const cluster = await create(onTestFinished);
    const parentOf = (child: Workflow<undefined, unknown>): Workflow<undefined, unknown> =>
      workflow("parent", async (ctx: Ctx, _: undefined) => await ctx.child(child, undefined));
    const bad = order(charging(typo));
    const engine = await cluster.engine({ workflows: [bad, parentOf(bad)] });
    await engine.start(parentOf(bad), undefined, { id: "p" });
    await cluster.world.advance("5 s");
    const { status, sentence, waits } = await engine.explain("p");
    expect(status).toBe("suspended");
    expect(sentence).toContain("(paused)");
    const child = waits[0]?.children[0]?.runId ?? "";
    await engine.shutdown();
    const heir = await cluster.engine({ workflows: [fixed, parentOf(fixed)] });
    await heir.resume(child);
    expect(await cluster.finish(heir.run("p"))).toBe("done");
  });

  it("checkReplay reports code that throws a TypeError", async () => {
    const { cluster } = await started(charging(async (ctx) => await ctx.listen("go")));
    const report = await checkReplay({
      store: cluster.connect(),
      workflows: [order(charging(typo))],
      world: cluster.world,
    });
    expect(report.findings).toMatchObject([{ runId: "r", kind: "codeError", location: "go" }]);
  });
});

describe.each(TEST_STORES)("the result of a run that is paused, on $name", ({ create }) => {
  /** A run that waits for a message, and whose code then throws. */
  async function waiting(then: Code) {
    const cluster = await create(onTestFinished);
    const code: Code = async (ctx) => {
      await ctx.listen("go");
      return await then(ctx);
    };
    const engine = await cluster.engine({ workflows: [order(code)] });
    const client = await cluster.client();
    const run = await engine.start(order(code), undefined, { id: "r" });
    await cluster.world.settle();
    return { cluster, engine, run, client };
  }

  const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
  const rejected = { code: "RUN_PAUSED", cause: { code: "CODE_ERROR", cause: { name: "TypeError" } } };

  it("result() rejects with RUN_PAUSED in every process when the code throws a TypeError, before and after", async () => {
    const { cluster, engine, client } = await waiting(typo);
    const early = [engine.run("r").result(), client.run("r").result()].map((each) =>
      each.then(
        () => null,
        (error: unknown) => error,
      ),
    );
    await client.send("r", "go", null);
    await cluster.world.advance("5 s");
    expect(await Promise.all(early)).toMatchObject([rejected, rejected]);
    await expect(engine.run("r").result()).rejects.toMatchObject(rejected);
    await expect(client.run("r").result()).rejects.toMatchObject(rejected);
  });

  it("result({ waitWhilePaused: true }) resolves when a run that has paused itself is resumed and completes", async () => {
    const { cluster, engine, client } = await waiting(typo);
    const results = [engine, client].map((each) => each.run("r").result({ waitWhilePaused: true }).catch(codeOf));
    await client.send("r", "go", null);
    await cluster.world.advance("5 s");
    const fixedCode: Code = async (ctx) => await ctx.listen("go").then(() => "done");
    const heir = await cluster.engine({ workflows: [order(fixedCode)] });
    const inHeir = heir.run("r").result({ waitWhilePaused: true });
    await engine.shutdown();
    await heir.resume("r");
    await cluster.world.advance("5 s");
    expect(await inHeir).toBe("done");
    expect(await Promise.all(results)).toEqual(["ENGINE_STOPPED", "done"]);
  });

  it("result() rejects with RUN_PAUSED when the run has diverged", async () => {
    const cluster = await create(onTestFinished);
    const before = order(charging(async (ctx) => await ctx.listen("go")));
    const engine = await cluster.engine({ workflows: [before] });
    await engine.start(before, undefined, { id: "r" });
    await cluster.world.settle();
    await engine.shutdown();
    const heir = await cluster.engine({ workflows: [order(async (ctx) => await ctx.step("other", () => 1))] });
    await heir.send("r", "go", null);
    await cluster.world.advance("5 s");
    const result = heir.run("r").result();
    await expect(result).rejects.toMatchObject({ code: "RUN_PAUSED", cause: { code: "HISTORY_DIVERGED" } });
  });

  it("result() keeps waiting while an operator has paused the run", async () => {
    const { cluster, engine, client, run } = await waiting(async () => "done");
    await engine.pause("r", "maintenance");
    let settled = 0;
    const results = [run.result(), client.run("r").result()].map((each) =>
      each.finally(() => {
        settled += 1;
      }),
    );
    await cluster.world.advance("5 s");
    expect(settled).toBe(0);
    await engine.resume("r");
    await client.send("r", "go", null);
    await cluster.world.advance("5 s");
    expect(await Promise.all(results)).toEqual(["done", "done"]);
  });

  it("result() rejects unknown options", async () => {
    const { run } = await waiting(typo);
    await expect(run.result({ wait: true } as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe.each(TEST_STORES)("the revision of workflow code, on $name", ({ create }) => {
  it.each(["engine", "workflow"])(
    "a run resumes by itself when another revision of the %s is deployed",
    async (level) => {
      const at = (code: Code, revision: string) => {
        const own = order(code, level === "workflow" ? { revision } : {});
        return { workflows: [own], ...(level === "engine" ? { revision } : {}) };
      };
      const cluster = await create(onTestFinished);
      const bad = await cluster.engine(at(charging(typo), "r1"));
      await bad.start(order(typo), undefined, { id: "r" });
      await cluster.world.advance("1 s");
      await bad.shutdown();
      const same = await cluster.engine(
        at(
          charging(async () => "done"),
          "r1",
        ),
      );
      await cluster.world.advance("2 minutes");
      expect(await same.get("r")).toMatchObject(PAUSED);
      await same.shutdown();
      const heir = await cluster.engine(
        at(
          charging(async () => "done"),
          "r2",
        ),
      );
      expect(await cluster.finish(heir.run("r"))).toBe("done");
    },
  );

  it("a run resumes by itself when register adds another revision", async () => {
    const cluster = await create(onTestFinished);
    const bad = await cluster.engine({ workflows: [order(charging(typo))] });
    await bad.start(order(typo), undefined, { id: "r" });
    await cluster.world.advance("1 s");
    await bad.shutdown();
    const heir = await cluster.engine({ revision: "r2" });
    await cluster.world.advance("2 minutes");
    expect(await heir.get("r")).toMatchObject(PAUSED);
    await heir.register(fixed);
    expect(await cluster.finish(heir.run("r"))).toBe("done");
  });

  it("a run that a worker of the earlier deployment pauses again resumes when that worker has left", async () => {
    const cluster = await create(onTestFinished);
    const bad = await cluster.engine({ workflows: [order(charging(typo))], revision: "r1" });
    const good = await cluster.engine({ workflows: [fixed], revision: "r2" });
    await cluster.world.advance("1 s");
    // Only the earlier deployment is alive in the meantime.
    for (let index = 0; index < 8; index += 1) await bad.start(order(typo), undefined, { id: `r${index}` });
    await cluster.world.advance("5 s");
    await bad.shutdown();
    await cluster.world.advance("3 minutes");
    const { items } = await good.list();
    expect(items.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "completed"));
  });

  it("a run that an operator has paused, or that diverged, does not resume when another revision is deployed", async () => {
    const cluster = await create(onTestFinished);
    const before = order(charging(async (ctx) => await ctx.listen("go")));
    const first = await cluster.engine({ workflows: [before], revision: "r1" });
    for (const id of ["paused", "diverged"]) await first.start(before, undefined, { id });
    await cluster.world.settle();
    await first.pause("paused", "maintenance");
    await first.shutdown();
    const second = await cluster.engine({
      workflows: [order(async (ctx) => await ctx.step("b", () => 1))],
      revision: "r2",
    });
    await second.send("diverged", "go", null);
    await cluster.world.advance("5 s");
    await second.shutdown();
    const third = await cluster.engine({ workflows: [before], revision: "r3" });
    await cluster.world.advance("2 minutes");
    expect((await third.list()).items.map(({ status }) => status)).toEqual(["paused", "paused"]);
  });
});
