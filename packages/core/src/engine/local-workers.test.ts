import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, workflow } from "../index.ts";
import type { LogLevel } from "../runtime/log.ts";
import type { Processes, ProcessIdentity } from "../runtime/processes.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const FREED = "a worker process has ended without a shutdown; its runs are taken over";
const SILENT = "a worker sends no heartbeats; its runs are taken over when its lease expires";
const FIRST: ProcessIdentity = { host: "h1", pid: 7, startedAt: "100" };

const asks = workflow("asks", async (ctx) => {
  const step = await ctx.step("work", () => "worked");
  return [step, (await ctx.listen("go")).value];
});

/** What a process of a host sees of others: those in `alive` exist. */
function seenBy(self: ProcessIdentity, alive: readonly ProcessIdentity[] = []): Processes {
  const isAlive = ({ pid, startedAt }: ProcessIdentity): boolean =>
    alive.some((each) => each.pid === pid && each.startedAt === startedAt);
  return { self, hasEnded: (other) => other.host === self.host && !isAlive(other) };
}

interface Started {
  readonly engine: Engine;
  readonly lines: string[];
}

async function engineOf(cluster: TestCluster, processes: Processes | null): Promise<Started> {
  const lines: string[] = [];
  const log = (_level: LogLevel, text: string): void => void lines.push(text);
  const options = { workflows: [asks], lease: "15 s", log } as const;
  const engine = await cluster.engine(processes === null ? options : { ...options, processes });
  return { engine, lines };
}

describe.each(TEST_STORES)("workers of one host, on the store $name", ({ create }) => {
  /** A run that a worker executes when its process is killed. */
  async function killed(cluster: TestCluster): Promise<string> {
    const { engine } = await engineOf(cluster, seenBy(FIRST));
    const run = await engine.start(asks, undefined);
    await cluster.world.settle();
    expect((await engine.get(run.id))?.owner).toBe(engine.workerId);
    cluster.crash(engine);
    return run.id;
  }

  it("a worker whose process has ended is freed at once when another starts on its host", async () => {
    const cluster = await create(onTestFinished);
    const runId = await killed(cluster);
    const { engine, lines } = await engineOf(cluster, seenBy({ ...FIRST, pid: 8 }));
    await engine.send(runId, "go", "now");
    await cluster.world.settle();
    expect(await engine.run(runId).result()).toEqual(["worked", "now"]);
    expect(lines.filter((text) => text === FREED)).toHaveLength(1);
    const { items } = await engine.documents.list({ kind: "pawl worker" });
    expect(items.map(({ id }) => id)).toEqual([engine.workerId]);
  });

  it("a worker whose process id another process has now is freed at once", async () => {
    const cluster = await create(onTestFinished);
    const runId = await killed(cluster);
    const { engine } = await engineOf(cluster, seenBy({ ...FIRST, pid: 8 }, [{ ...FIRST, startedAt: "200" }]));
    await engine.send(runId, "go", "now");
    await cluster.world.settle();
    expect(await engine.run(runId).status()).toBe("completed");
  });

  it.each([
    ["whose process exists", seenBy({ ...FIRST, pid: 8 }, [FIRST])],
    ["of another host", seenBy({ ...FIRST, host: "h2", pid: 8 })],
    ["that cannot be identified", null],
  ])(
    "a silent worker %s keeps its runs until its lease expires, and the log says so once",
    async (_name, processes) => {
      const cluster = await create(onTestFinished);
      const runId = await killed(cluster);
      const { engine, lines } = await engineOf(cluster, processes);
      const { owner } = (await engine.get(runId)) ?? {};
      await cluster.world.advance("14 s");
      expect([owner, (await engine.get(runId))?.owner]).toEqual([owner, owner]);
      expect(lines).toEqual([SILENT]);
      await cluster.world.advance("3 s");
      await engine.send(runId, "go", "later");
      await cluster.world.advance("2 s");
      expect(await engine.run(runId).status()).toBe("completed");
      expect(lines).toEqual([SILENT]);
    },
  );

  it("workers that send heartbeats are not logged, however often runs are recovered", async () => {
    const cluster = await create(onTestFinished);
    const first = await engineOf(cluster, seenBy(FIRST));
    const second = await engineOf(cluster, seenBy({ ...FIRST, pid: 8 }, [FIRST]));
    for (let second_ = 0; second_ < 60; second_ += 1) {
      await first.engine.recover();
      await second.engine.recover();
      await cluster.world.advance("1 s");
    }
    expect([first.lines, second.lines]).toEqual([[], []]);
  });

  it("a worker that shuts down leaves no document", async () => {
    const cluster = await create(onTestFinished);
    const { engine } = await engineOf(cluster, seenBy(FIRST));
    const client = await cluster.client();
    expect((await client.documents.list({ kind: "pawl worker" })).items).toHaveLength(1);
    const stopped = engine.shutdown({ drainMs: 0 });
    await cluster.world.advance("10 s");
    await stopped;
    expect((await client.documents.list({ kind: "pawl worker" })).items).toEqual([]);
  });
});
