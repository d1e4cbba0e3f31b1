import { describe, expect, it, onTestFinished } from "vitest";
import { endExported, exportRun, importRun, type ProgramFactory, programWorkflow } from "../index.ts";
import { DEFAULT_RETRY, resolveRetry } from "../model/retry.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORE_PAIRS, TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

const SELDOM = { poll: "30 days", lease: "90 days" } as const;

/** Adds the results of `steps` steps, one per day. Writes a snapshot every third step. */
function tally(starts: unknown[]): ProgramFactory {
  return (host) => {
    let steps = 0;
    let state = { next: 1, sum: 0 };
    const ask = (): void => {
      const n = state.next;
      if (n > steps) {
        host.finish({ kind: "completed", output: state.sum });
        return;
      }
      host.issue({
        ...{ kind: "step", record: "step", location: `add-${n}`, issuedAt: host.now() },
        body: ({ attempt }) => {
          if (attempt === 1) throw new Error("not at once");
          return n;
        },
        retry: resolveRetry({ initialMs: 86_400_000, maxAttempts: 4, jitter: 0 }, DEFAULT_RETRY),
        ...{ shouldRetry: null, timeoutMs: null, retryOnTimeout: false, ephemeral: false, idempotencyKey: null },
        ...{ attempts: 0, retryAt: 0 },
        settle: (completion) => {
          if (completion.outcome !== "ok") throw new Error(`step ${n} failed`);
          state = { next: n + 1, sum: state.sum + Number(completion.value) };
          if (n % 3 === 0) host.snapshot(state);
          ask();
        },
      });
    };
    return {
      start(input, snapshot) {
        steps = input as number;
        starts.push(snapshot?.state ?? null);
        if (snapshot !== null) state = snapshot.state as typeof state;
        ask();
      },
    };
  };
}

/** A loop whose journal keeps only the last iteration. */
const rounds = workflow("rounds", async (ctx, count: number) => {
  await ctx.step("begin", () => "begun");
  return await ctx.loop<number, number>({
    name: "rounds",
    state: 0,
    commitInterval: 2,
    historyKeep: 1,
    run: async (round, done) => {
      await round.step("work", () => done);
      await round.sleep("1 day");
      return done + 1 === count ? { kind: "break", value: done + 1 } : { kind: "continue", state: done + 1 };
    },
  });
});

async function result(cluster: TestCluster, engine: Awaited<ReturnType<TestCluster["engine"]>>): Promise<unknown> {
  await cluster.world.settle();
  await cluster.world.advance("20 days");
  const { status, output } = (await engine.get("r")) ?? {};
  return { status, output, journal: await engine.run("r").journal() };
}

describe.each(TEST_STORE_PAIRS)("moving runs from $from.name to $to.name", ({ from, to }) => {
  it("a moved run resumes from its snapshot, without the records before it", async () => {
    const startRun = async (starts: unknown[]): Promise<[TestCluster, Awaited<ReturnType<TestCluster["engine"]>>]> => {
      const cluster = await from.create(onTestFinished);
      const flow = programWorkflow<number, number>("tally", tally(starts));
      const engine = await cluster.engine({ ...SELDOM, workflows: [flow] });
      await engine.start(flow, 8, { id: "r" });
      await cluster.world.advance("4 days");
      return [cluster, engine];
    };
    const stayed = await result(...(await startRun([])));
    expect(stayed).toMatchObject({ status: "completed", output: 36 });
    const [cluster] = await startRun([]);
    const text = JSON.stringify(await exportRun(cluster.connect(), "r", { clock: cluster.world.clock }));
    const starts: unknown[] = [];
    const other = await to.create(onTestFinished);
    await other.world.advance("4 days");
    const elsewhere = await other.engine({
      ...SELDOM,
      workflows: [programWorkflow<number, number>("tally", tally(starts))],
    });
    await importRun(other.connect(), text, { clock: other.world.clock });
    await elsewhere.recover();
    expect(await result(other, elsewhere)).toEqual(stayed);
    expect(starts).toEqual([{ next: 4, sum: 6 }]);
  });

  it("a moved run keeps the seqs of its records, even if a loop has removed some", async () => {
    const startRun = async (): Promise<[TestCluster, Awaited<ReturnType<TestCluster["engine"]>>]> => {
      const cluster = await from.create(onTestFinished);
      const engine = await cluster.engine({ ...SELDOM, workflows: [rounds] });
      await engine.start(rounds, 12, { id: "r" });
      await cluster.world.advance("5 days");
      return [cluster, engine];
    };
    const stayed = await result(...(await startRun()));
    expect(stayed).toMatchObject({ status: "completed", output: 12 });
    const [cluster] = await startRun();
    const exported = await exportRun(cluster.connect(), "r", { clock: cluster.world.clock });
    const seqs = exported.runs[0]?.records.map(({ seq }) => seq) ?? [];
    expect(seqs.length).toBeLessThan(seqs.at(-1) ?? 0);
    const other = await to.create(onTestFinished);
    await other.world.advance("5 days");
    const elsewhere = await other.engine({ ...SELDOM, workflows: [rounds] });
    await importRun(other.connect(), JSON.stringify(exported), { clock: other.world.clock });
    await elsewhere.recover();
    expect(await result(other, elsewhere)).toEqual(stayed);
  });
});

describe.each(TEST_STORES)("endExported, on the store $name", ({ create }) => {
  const bill = workflow("bill", async (ctx) => ctx.sleep("10 days"));
  const undone: string[] = [];
  const order = workflow("order", async (ctx) => {
    await ctx.step("charge", () => 1, { rollback: () => void undone.push("charge") });
    const child = await ctx.startChild(bill, undefined);
    await ctx.listen("approve");
    await child.result();
  });

  it("endExported cancels the exported runs once, without rollbacks and without dead letters", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ ...SELDOM, workflows: [order, bill] });
    await engine.start(order, undefined, { id: "o" });
    await cluster.world.settle();
    await engine.pause("o");
    await engine.send("o", "other", "lies there", { onTargetTerminated: "deadLetter" });
    const clock = { clock: cluster.world.clock };
    const exported = await exportRun(cluster.connect(), "o", clock);
    expect(await endExported(cluster.connect(), JSON.stringify(exported), clock)).toEqual(["o", "o//bill"]);
    expect(await endExported(cluster.connect(), exported, clock)).toEqual([]);
    for (const id of ["o", "o//bill"]) {
      expect(await engine.get(id)).toMatchObject({ status: "cancelled", error: { code: "RUN_MOVED" } });
    }
    await cluster.world.advance("20 days");
    expect(undone).toEqual([]);
    expect((await engine.deadLetters.list()).items).toEqual([]);
  });

  it("endExported rejects a run that changed after its export", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ ...SELDOM, workflows: [order, bill] });
    await engine.start(order, undefined, { id: "o" });
    await cluster.world.settle();
    const clock = { clock: cluster.world.clock };
    const ended = (exported: Awaited<ReturnType<typeof exportRun>>): Promise<unknown> =>
      endExported(cluster.connect(), exported, clock);
    const first = await exportRun(cluster.connect(), "o", clock);
    await engine.pause("o");
    await expect(ended(first)).rejects.toMatchObject({ code: "RUN_GOES_ON" });
    const paused = await exportRun(cluster.connect(), "o", clock);
    await engine.send("o", "approve", 1);
    await expect(ended(paused)).rejects.toMatchObject({ code: "RUN_GOES_ON" });
    const below = await exportRun(cluster.connect(), "o//bill", clock);
    await expect(ended(below)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await engine.resume("o");
    await cluster.world.advance("20 days");
    expect(await engine.run("o").status()).toBe("completed");
    await expect(ended({ ...first, runs: first.runs.map((run) => ({ ...run, startId: "another" })) })).resolves.toEqual(
      [],
    );
  });
});
