import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { FailureLog } from "./failure-log.ts";

const RUN_FAILED = "run failed; read its journal, then continue it with retry, or rewind it";
const STEP_FAILED = "step failed after its last attempt; the run fails unless its code handles the error";
const ROLLBACK_FAILED = "rollback failed after its last attempt; undo its step yourself, or retry the run";

describe.each(TEST_STORES)("failures, on the store $name", ({ create }) => {
  it("a failed run and its exhausted step leave one log line and one count each", async () => {
    const cluster = await create(onTestFinished);
    const pay = workflow("pay", async (ctx) => {
      const declined = (): never => {
        throw new Error("card declined");
      };
      await ctx.step("charge", declined, { retry: { maxAttempts: 2, initialMs: 10 } });
    });
    const engine = await cluster.engine({ workflows: [pay] });
    const ended: string[] = [];
    engine.on("run.failed", ({ runId }) => ended.push(runId));
    const run = await engine.start(pay, undefined);
    await expect(cluster.finish(run)).rejects.toThrow("card declined");
    const lines = cluster.log.filter(({ text }) => text === RUN_FAILED || text === STEP_FAILED);
    const common = { run: run.id, workflow: "pay", error: "card declined" };
    expect(lines).toMatchObject([
      { level: "warn", text: STEP_FAILED, fields: { ...common, location: "charge", attempts: 2 } },
      { level: "error", text: RUN_FAILED, fields: common },
    ]);
    expect(engine.metrics()).toEqual({ failedRuns: 1, failedSteps: 1, incidents: 0, lostLeases: 0 });
    expect(ended).toEqual([run.id]);
  });

  it("a rollback that failed leaves one log line and one count", async () => {
    const cluster = await create(onTestFinished);
    const book = workflow("book", async (ctx) => {
      const rollback = (): never => {
        throw new CriticalError("no refund");
      };
      await ctx.step("charge", () => 1, { rollback });
      throw new CriticalError("sold out");
    });
    const engine = await cluster.engine({ workflows: [book] });
    const run = await engine.start(book, undefined);
    await cluster.failure(run);
    const lines = cluster.log.filter(({ text }) => text === ROLLBACK_FAILED || text === STEP_FAILED);
    const fields = { run: run.id, workflow: "book", location: "charge/~rollback", attempts: 1, error: "no refund" };
    expect(lines).toMatchObject([{ level: "warn", text: ROLLBACK_FAILED, fields }]);
    expect(engine.metrics()).toEqual({ failedRuns: 1, failedSteps: 1, incidents: 0, lostLeases: 0 });
  });

  it("a replay and a cancelled run log no failure", async () => {
    const cluster = await create(onTestFinished);
    const waits = workflow("waits", async (ctx) => {
      await ctx.tryStep("optional", () => {
        throw new CriticalError("not there");
      });
      await ctx.listen("go");
    });
    const first = await cluster.engine({ workflows: [waits] });
    const run = await first.start(waits, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [waits] });
    await second.send(run.id, "other", 1);
    await cluster.world.settle();
    await second.cancel(run.id);
    await cluster.world.settle();
    expect(second.metrics()).toMatchObject({ failedRuns: 0, failedSteps: 0 });
    expect(cluster.log.filter(({ text }) => text === STEP_FAILED)).toHaveLength(1);
    expect(cluster.log.filter(({ text }) => text === RUN_FAILED)).toEqual([]);
  });
});

describe("FailureLog", () => {
  it("many failures in a minute leave 20 lines and a summary, and all are counted", () => {
    const lines: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
    let now = 0;
    const failures = new FailureLog(
      (_, text, fields) => void lines.push([text, fields]),
      () => now,
    );
    const fail = (id: string) => failures.runFailed({ id, workflow: "w" }, () => new Error("down"));
    for (let n = 0; n < 100; n += 1) fail(`r${n}`);
    expect(lines).toHaveLength(21);
    expect(lines[20]).toEqual([
      "more failures; they are counted, and not logged until the minute ends",
      { of: RUN_FAILED },
    ]);
    now = 60_000;
    fail("later");
    fail("last");
    expect(lines.slice(21).map(([, fields]) => fields)).toEqual([
      { run: "later", workflow: "w", error: "down", omitted: 80 },
      { run: "last", workflow: "w", error: "down" },
    ]);
    expect(failures.metrics.failedRuns).toBe(102);
  });
});
