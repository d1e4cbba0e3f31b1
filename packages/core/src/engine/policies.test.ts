import { describe, expect, it, onTestFinished } from "vitest";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { Loop } from "../workflow/structure.ts";
import { programWorkflow, workflow } from "../workflow/workflow.ts";
import type { Engine } from "./engine.ts";
import type { EngineEvent } from "./events.ts";

const asleep = workflow("asleep", async (ctx) => {
  await ctx.step("begin", () => undefined);
  await ctx.listen("go");
  return "done";
});

/** The warnings of an engine, as `limit percent`. */
function warnings(engine: Engine): string[] {
  const emitted: string[] = [];
  engine.on("run.warning", ({ limit, percent }: EngineEvent & { kind: "run.warning" }) =>
    emitted.push(`${limit} ${percent}`),
  );
  return emitted;
}

describe.each(TEST_STORES)("limits of runs on $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("a run fails at its maxRunDuration, after one warning at 50 % and one at 80 %", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [asleep], maxRunDuration: "100 s" });
    const emitted = warnings(engine);
    const run = await engine.start(asleep, undefined);
    await cluster.world.advance("49 s");
    expect(emitted).toEqual([]);
    await cluster.world.advance("1 s");
    expect(emitted).toEqual(["maxRunDuration 50"]);
    await cluster.world.advance("30 s");
    expect(emitted).toEqual(["maxRunDuration 50", "maxRunDuration 80"]);
    await cluster.world.advance(19_999);
    expect(await run.status()).toBe("suspended");
    await cluster.world.advance(1);
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { code: "RUN_DURATION_EXCEEDED" } });
    expect(error.message).toContain("exceeded its maxRunDuration of 1 min 40 s");
    expect(emitted).toHaveLength(2);
    expect(cluster.log.filter(({ level }) => level === "warn")).toMatchObject([
      { text: "run is close to a limit", fields: { run: run.id, limit: "maxRunDuration", percent: 50 } },
      { text: "run is close to a limit", fields: { run: run.id, limit: "maxRunDuration", percent: 80 } },
    ]);
  });

  it("a workflow can override the limits of the engine, or remove them", async () => {
    const cluster = await open();
    const short = workflow("short", { maxRunDuration: "10 s" }, asleep.run);
    const free = workflow("free", { maxRunDuration: false }, asleep.run);
    const engine = await cluster.engine({ workflows: [asleep, short, free], maxRunDuration: "30 s" });
    const runs = await Promise.all([asleep, short, free].map((each) => engine.start(each, undefined)));
    const statuses = () => Promise.all(runs.map((run) => run.status()));
    await cluster.world.advance("10 s");
    expect(await statuses()).toEqual(["suspended", "failed", "suspended"]);
    await cluster.world.advance("20 s");
    expect(await statuses()).toEqual(["failed", "failed", "suspended"]);
    await runs[2]?.send("go", null);
    expect(await cluster.finish(runs[2] ?? expect.unreachable())).toBe("done");
  });

  it("maxSuspendDuration fails a suspended run, and only progress restarts it", async () => {
    const cluster = await open();
    const patient = workflow("patient", { maxSuspendDuration: "10 s" }, async (ctx) => {
      await ctx.sleep("9 s");
      await ctx.step("short", () => undefined);
      await ctx.listen("first");
      await ctx.listenN("second", 2);
    });
    const engine = await cluster.engine({ workflows: [patient] });
    const emitted = warnings(engine);
    const run = await engine.start(patient, undefined);
    await cluster.world.advance("17 s");
    await run.send("first", null);
    await cluster.world.advance("7 s");
    await run.send("second", null);
    await cluster.world.advance(2_999);
    expect(await run.status()).toBe("suspended");
    await cluster.world.advance(1);
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "SUSPEND_DURATION_EXCEEDED" } });
    expect(emitted).toEqual(["maxSuspendDuration 50", "maxSuspendDuration 80"]);
  });

  it("running steps and pauses do not count as suspension", async () => {
    const cluster = await open();
    let end: () => void = () => undefined;
    const slow = workflow("slow", { maxSuspendDuration: "10 s" }, async (ctx) => {
      await ctx.step("long", () => new Promise<void>((resolve) => (end = resolve)));
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.advance("1 min");
    end();
    await cluster.world.advance("9 s");
    await run.pause();
    await cluster.world.advance("1 min");
    await run.resume();
    await cluster.world.advance("9 s");
    await run.send("go", null);
    await cluster.result(run);
  });

  it("a run fails when its journal exceeds maxJournalRecords, after the warnings", async () => {
    const cluster = await open();
    const chatty = workflow("chatty", { maxJournalRecords: 10 }, async (ctx, steps: number) => {
      for (let index = 0; index < steps; index += 1) await ctx.step("say", () => index);
      return steps;
    });
    const engine = await cluster.engine({ workflows: [chatty] });
    const emitted = warnings(engine);
    expect(await cluster.result(await engine.start(chatty, 10))).toBe(10);
    expect(emitted).toEqual(["maxJournalRecords 50", "maxJournalRecords 80"]);
    const run = await engine.start(chatty, 1_000);
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "JOURNAL_RECORDS_EXCEEDED" } });
    expect((await run.journal()).filter(({ kind }) => kind === "step").length).toBeLessThanOrEqual(11);
  });

  it("maxJournalRecords ends a run that never suspends, and does not count records removed by a loop", async () => {
    const cluster = await open();
    const endless = workflow("endless", { maxJournalRecords: 50 }, async (ctx) => {
      for (;;) await ctx.emit("news", 1);
    });
    const loops = workflow("loops", { maxJournalRecords: 50 }, async (ctx) =>
      ctx.loop({
        name: "loop",
        state: 0,
        run: async (round, at) => {
          await round.step("work", () => at);
          return at < 200 ? Loop.continue(at + 1) : Loop.break(at);
        },
      }),
    );
    const engine = await cluster.engine({ workflows: [endless, loops] });
    const failed = await engine.start(endless, undefined);
    expect(await cluster.failure(failed)).toMatchObject({ cause: { code: "JOURNAL_RECORDS_EXCEEDED" } });
    expect(await cluster.result(await engine.start(loops, undefined))).toBe(200);
  });

  it("limits apply to runs that are not in memory, and to runs whose worker crashed", async () => {
    const cluster = await open();
    const workflows = [workflow("asleep", { maxSuspendDuration: "20 s" }, asleep.run)];
    const [limited = asleep] = workflows;
    const engine = await cluster.engine({ workflows, hotRuns: 1 });
    const cold = await Promise.all([1, 2, 3].map(() => engine.start(limited, undefined)));
    await cluster.world.advance("20 s");
    for (const run of cold)
      expect(await cluster.failure(run)).toMatchObject({ cause: { code: "SUSPEND_DURATION_EXCEEDED" } });
    const orphan = await engine.start(limited, undefined);
    await cluster.world.advance("11 s");
    const client = await cluster.engine();
    cluster.crash(engine);
    await cluster.world.advance("30 s");
    const heir = await cluster.engine({ workflows });
    const emitted = warnings(heir);
    await cluster.world.advance("6 s");
    expect(await cluster.failure(client.run(orphan.id))).toMatchObject({
      cause: { code: "SUSPEND_DURATION_EXCEEDED" },
    });
    expect(emitted).toEqual([]);
  });

  it("maxRunDuration ends a run that awaits a promise which is not from ctx", async () => {
    const cluster = await open();
    const hung = workflow("hung", { maxRunDuration: "10 s" }, async () => await new Promise(() => undefined));
    const engine = await cluster.engine({ workflows: [hung] });
    const run = await engine.start(hung, undefined);
    await cluster.world.advance("10 s");
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "RUN_DURATION_EXCEEDED" } });
  });

  it("a run that exceeds a limit is compensated once, whichever commit the worker crashes at", async () => {
    let undone = 0;
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await open();
      const done: string[] = [];
      const saga = workflow("saga", { maxRunDuration: "30 s" }, async (ctx) => {
        await ctx.step("book", () => "seat 1", { rollback: (seat) => void done.push(`undo ${seat}`) });
        await ctx.listen("never");
      });
      const client = await cluster.engine();
      const engine = await cluster.engine({ workflows: [saga], crashAt });
      const run = await client.start(saga, undefined);
      await cluster.world.advance("32 s");
      const crashed = cluster.crashed(engine);
      if (crashed) await cluster.engine({ workflows: [saga] });
      await expect(cluster.finish(run)).rejects.toMatchObject({ cause: { code: "RUN_DURATION_EXCEEDED" } });
      const kinds = (await run.journal()).map(({ kind }) => kind);
      const count = (kind: string) => kinds.filter((each) => each === kind).length;
      // The limit may pass before the step is recorded. Then there is nothing to roll back.
      expect([count("rollback"), new Set(done).size]).toEqual([count("step"), count("step")]);
      expect(count("warning")).toBeLessThanOrEqual(2);
      undone += count("rollback");
      return crashed;
    });
    expect(crashes).toBeGreaterThan(4);
    expect(undone).toBeGreaterThan(crashes / 2);
  });

  it("limits do not apply during compensation", async () => {
    const cluster = await open();
    let attempts = 0;
    const undo = (): void => {
      attempts += 1;
      if (attempts < 4) throw new Error("not yet");
    };
    const retry = { maxAttempts: 5, initialMs: 60_000, factor: 1, jitter: 0 };
    const limits = { maxRunDuration: "30 s", maxSuspendDuration: "20 s", maxJournalRecords: 3 } as const;
    const saga = workflow("saga", limits, async (ctx) => {
      await ctx.step("book", () => "seat", { rollback: { run: undo, retry } });
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [saga] });
    const run = await engine.start(saga, undefined);
    await cluster.world.advance("79 s");
    expect(await engine.explain(run.id)).toMatchObject({
      status: "compensating",
      why: { kind: "backingOff", location: "book/~rollback", attempts: 1, error: { message: "not yet" } },
      nextDueAt: cluster.world.now() + 1_000,
    });
    const heir = await cluster.takeOver(engine, { workflows: [saga] });
    await cluster.world.advance("3 min");
    expect(await cluster.failure(heir.run(run.id))).toMatchObject({ cause: { code: "SUSPEND_DURATION_EXCEEDED" } });
    expect(attempts).toBe(4);
  });

  it("each warning is emitted once, even after a takeover", async () => {
    const cluster = await open();
    const pair = workflow("pair", { maxRunDuration: "60 s" }, async (ctx) => {
      await ctx.listenN("go", 2);
      return "done";
    });
    const engine = await cluster.engine({ workflows: [pair] });
    const first = warnings(engine);
    const run = await engine.start(pair, undefined);
    await cluster.world.advance("31 s");
    const heir = await cluster.takeOver(engine, { workflows: [pair] });
    const second = warnings(heir);
    await heir.run(run.id).send("go", null);
    await cluster.world.advance("2 s");
    expect(await heir.get(run.id)).toMatchObject({ status: "suspended", owner: heir.workerId });
    expect([first, second]).toEqual([["maxRunDuration 50"], []]);
    await cluster.world.advance("10 s");
    await heir.run(run.id).send("go", null);
    expect(await cluster.finish(heir.run(run.id))).toBe("done");
    expect([first, second]).toEqual([["maxRunDuration 50"], ["maxRunDuration 80"]]);
    expect((await heir.run(run.id).journal()).map(({ kind, location }) => `${kind} ${location}`)).toEqual([
      "warning ~maxRunDuration",
      "warning ~maxRunDuration",
      "listen go",
    ]);
  });

  it("maxRunDuration does not count the delay, and restarts with each generation", async () => {
    const cluster = await open();
    const again = workflow("again", { maxRunDuration: "10 s" }, async (ctx, left: number): Promise<string> => {
      await ctx.sleep("6 s");
      return left === 0 ? "done" : await ctx.continueAs(left - 1);
    });
    const engine = await cluster.engine({ workflows: [again] });
    const run = await engine.start(again, 3, { delay: "1 min" });
    await cluster.world.advance("90 s");
    expect(await cluster.result(run)).toBe("done");
  });

  it("a retried run gets its full limits again", async () => {
    const cluster = await open();
    const limits = { maxRunDuration: "60 s", maxSuspendDuration: "50 s" } as const;
    const limited = workflow("asleep", limits, asleep.run);
    const engine = await cluster.engine({ workflows: [limited] });
    const run = await engine.start(limited, undefined);
    await cluster.world.advance("10 min");
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "SUSPEND_DURATION_EXCEEDED" } });
    await run.retry();
    await cluster.world.advance("49 s");
    expect(await run.status()).toBe("suspended");
    await run.send("go", null);
    expect(await cluster.result(run)).toBe("done");
  });

  it("limits apply to programs with snapshots, and a snapshot remembers the warnings", async () => {
    const cluster = await open();
    const ticking = programWorkflow(
      "ticking",
      (host) => {
        let ticks = 0;
        const ask = (): void => {
          host.issue({
            kind: "wait",
            record: "sleep",
            location: `tick#${ticks}`,
            issuedAt: host.now(),
            arms: [],
            count: 0,
            many: false,
            until: host.now() + 1_000,
            atDeadline: { outcome: "ok", detail: null },
            settle: () => {
              ticks += 1;
              host.snapshot(ticks);
              ask();
            },
          });
        };
        return {
          start(_input, snapshot) {
            ticks = (snapshot?.state as number | undefined) ?? 0;
            ask();
          },
        };
      },
      { maxJournalRecords: 20 },
    );
    const engine = await cluster.engine({ workflows: [ticking] });
    const first = warnings(engine);
    const run = await engine.start(ticking, undefined);
    await cluster.world.advance("12 s");
    cluster.crash(engine);
    const heir = await cluster.engine({ workflows: [ticking] });
    const second = warnings(heir);
    await cluster.world.advance("16 s");
    expect(await cluster.failure(heir.run(run.id))).toMatchObject({ cause: { code: "JOURNAL_RECORDS_EXCEEDED" } });
    expect([...first, ...second]).toEqual(["maxJournalRecords 50", "maxJournalRecords 80"]);
  });
});

it("invalid limits are rejected", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  const refused = { code: "OPTION_INVALID" };
  await expect(cluster.engine({ maxRunDuration: 0 })).rejects.toMatchObject(refused);
  await expect(cluster.engine({ maxSuspendDuration: "soon" as "1 s" })).rejects.toMatchObject({
    code: "DURATION_INVALID",
  });
  for (const maxJournalRecords of [0, 1.5, -1]) {
    await expect(cluster.engine({ maxJournalRecords })).rejects.toMatchObject(refused);
  }
  expect(() => workflow("wrong", { maxJournalRecords: 0 }, async () => undefined)).toThrow(
    expect.objectContaining({
      ...refused,
      message: "maxJournalRecords must be false or a positive integer; got 0",
    }),
  );
});
