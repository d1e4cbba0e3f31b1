import { mkdtempSync, rmSync } from "node:fs";
import type { HeapProfiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEngine, memoryStore, workflow } from "../index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";
import type { Store } from "../store/store.ts";

/**
 * What a step takes from the heap, by V8's own sampling, in which what was collected again counts too: nearly the same on every
 * machine, where times are not. The ceilings are one and a half times what was measured: they leave room for another version of V8, and none for twice as much.
 */

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const SAMPLED_EVERY_BYTES = 512;

/** The bytes that were allocated while it ran. */
async function allocated(run: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.enable");
  const options = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.post("HeapProfiler.startSampling", { samplingInterval: SAMPLED_EVERY_BYTES, ...options });
  await run();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  return bytesOf(profile.head);
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize);
}

/** Bytes a step of so many runs at once, with their starts and ends, when the code has been compiled. */
async function bytesAStep(store: Store, runs: number, steps: number): Promise<number> {
  const stepping = workflow("stepping", async (ctx, count: number) => {
    for (let n = 0; n < count; n += 1) await ctx.step(`step-${n}`, async () => ({ n, ok: true }));
  });
  const engine = await createEngine({ store, workflows: [stepping] });
  const runAll = async (): Promise<void> => {
    const handles = await Promise.all(Array.from({ length: runs }, () => engine.start(stepping, steps)));
    await Promise.all(handles.map((handle) => handle.result()));
  };
  for (let warm = 0; warm < 10; warm += 1) await runAll();
  const bytes = await allocated(runAll);
  await engine.shutdown();
  return bytes / (runs * steps);
}

/** What is left of the heap's objects when everything that nobody holds is collected. */
async function held(): Promise<number> {
  const session = new Session();
  session.connect();
  for (let round = 0; round < 4; round += 1) await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
  return getHeapStatistics().used_heap_size;
}

/** Bytes that each of so many suspended runs keeps while it is hot; `rounds`: how often each was woken before. */
async function bytesAHotRun(store: Store, runs: number, rounds: number): Promise<number> {
  const waiting = workflow("waiting", async (ctx, _input: { readonly n: number }) => {
    for (;;) await ctx.listen("go");
  });
  const engine = await createEngine({ store, workflows: [waiting] });
  let rests = 0;
  let onRest = (): void => undefined;
  engine.on("run.suspended", () => {
    rests += 1;
    onRest();
  });
  const rested = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onRest = () => void (rests >= count && resolve());
      onRest();
    });
  const startAll = async (first: number, count: number): Promise<void> => {
    const before = rests;
    const ids = Array.from({ length: count }, (_, index) => `run-${first + index}`);
    await Promise.all(ids.map((id, index) => engine.start(waiting, { n: first + index }, { id })));
    await rested(before + count);
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.all(ids.map((id) => engine.send(id, "go", null)));
      await rested(before + count * (round + 1));
    }
  };
  await startAll(0, 500);
  const before = await held();
  await startAll(500, runs);
  const bytes = ((await held()) - before) / runs;
  await engine.shutdown();
  return bytes;
}

const STORES: readonly (readonly [string, () => Store])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(join(folder, "allocated.db"), { synchronous: "NORMAL" })],
];

describe.each(STORES)("what is allocated on %s", (_, open) => {
  it("by a step of a hundred runs at once", async () => {
    expect(await bytesAStep(open(), 100, 10)).toBeLessThan(10_000);
  });

  it("by a step of one run alone, which has a commit of its own", async () => {
    expect(await bytesAStep(open(), 1, 200)).toBeLessThan(18_000);
  });
});

/**
 * On SQLite, where the rows are not among it, but for what is remembered of them. The ceilings lie an eighth above the most that was
 * measured: what the compiler keeps meanwhile makes a tenth of difference from one time to the next on Node 24.
 */
describe("what a hot run holds that waits for a message", () => {
  it.each([
    { woken: 0, ceiling: 4_700 },
    { woken: 2, ceiling: 5_150 },
  ])("when it was woken $woken times", async ({ woken, ceiling }) => {
    const store = sqliteStore(join(folder, "hot.db"), { synchronous: "NORMAL" });
    expect(await bytesAHotRun(store, 2_000, woken)).toBeLessThan(ceiling);
  });
});
