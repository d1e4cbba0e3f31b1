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
 * Heap bytes that a step allocates, sampled by V8; collected objects count too. The figures are nearly the same on every host, unlike
 * times. Each ceiling is 1.5 times the measured value: enough for another version of V8, not for twice as much.
 */

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const SAMPLED_EVERY_BYTES = 512;

/** Returns the bytes allocated while `run` executed. */
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

/** Returns the bytes per step of `runs` concurrent runs, including their starts and ends, after warm-up. */
async function bytesPerStep(store: Store, runs: number, steps: number): Promise<number> {
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

/** Returns the bytes per message of a run that receives `pending` messages, `count` at a time. All were sent before the first wait. */
async function bytesPerMessage(store: Store, pending: number, count: number): Promise<number> {
  const draining = workflow("draining", async (ctx) => {
    await ctx.listen("go");
    for (let got = 0; got < pending; got += count) await ctx.listenN("item", count);
  });
  const engine = await createEngine({ store, workflows: [draining] });
  const drain = async (): Promise<number> => {
    const run = await engine.start(draining, undefined);
    await Promise.all(Array.from({ length: pending }, (_, n) => run.send("item", n)));
    return await allocated(async () => {
      await run.send("go", null);
      await run.result();
    });
  };
  await drain();
  const bytes = await drain();
  await engine.shutdown();
  return bytes / pending;
}

/** Returns the used heap size after garbage collection. */
async function usedHeap(): Promise<number> {
  const session = new Session();
  session.connect();
  for (let wake = 0; wake < 4; wake += 1) await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
  return getHeapStatistics().used_heap_size;
}

/** Returns the bytes that each of `runs` hot, suspended runs keeps. `wakes` is how often each was woken before. */
async function bytesPerHotRun(store: Store, runs: number, wakes: number): Promise<number> {
  const waiting = workflow("waiting", async (ctx, _input: { readonly n: number }) => {
    for (;;) await ctx.listen("go");
  });
  const engine = await createEngine({ store, workflows: [waiting] });
  let suspensions = 0;
  let onSuspended = (): void => undefined;
  engine.on("run.suspended", () => {
    suspensions += 1;
    onSuspended();
  });
  const suspended = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onSuspended = () => void (suspensions >= count && resolve());
      onSuspended();
    });
  const startAll = async (first: number, count: number): Promise<void> => {
    const before = suspensions;
    const ids = Array.from({ length: count }, (_, index) => `run-${first + index}`);
    await Promise.all(ids.map((id, index) => engine.start(waiting, { n: first + index }, { id })));
    await suspended(before + count);
    for (let wake = 1; wake <= wakes; wake += 1) {
      await Promise.all(ids.map((id) => engine.send(id, "go", null)));
      await suspended(before + count * (wake + 1));
    }
  };
  await startAll(0, 500);
  const before = await usedHeap();
  await startAll(500, runs);
  const bytes = ((await usedHeap()) - before) / runs;
  await engine.shutdown();
  return bytes;
}

const STORES: readonly (readonly [string, () => Store])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(join(folder, "allocated.db"), { synchronous: "NORMAL" })],
];

describe.each(STORES)("heap allocations on %s", (_, open) => {
  it("a step of a hundred concurrent runs allocates less than 10 kB", async () => {
    expect(await bytesPerStep(open(), 100, 10)).toBeLessThan(10_000);
  });

  it("a step of a single run, which commits alone, allocates less than 18 kB", async () => {
    expect(await bytesPerStep(open(), 1, 200)).toBeLessThan(18_000);
  });
});

describe.each(STORES)("heap allocations of listenN on %s", (_, open) => {
  it.each([{ count: 10 }, { count: 1_000 }])(
    "a message received $count at a time from an inbox of 8,000 allocates as much as one from an inbox of 1,000",
    async ({ count }) => {
      const few = await bytesPerMessage(open(), 1_000, count);
      expect(await bytesPerMessage(open(), 8_000, count)).toBeLessThan(2 * few);
    },
  );
});

/**
 * Measured on SQLite, where rows are not on the heap except cached ones. The ceilings are 1/8 above the highest measured value: on
 * Node 24 the compiler's own memory varies by a tenth between two executions.
 */
describe("memory of a hot run that waits for a message", () => {
  it.each([
    { woken: 0, ceiling: 4_700 },
    { woken: 2, ceiling: 5_150 },
  ])("a hot run that was woken $woken times keeps less than $ceiling bytes", async ({ woken, ceiling }) => {
    const store = sqliteStore(join(folder, "hot.db"), { synchronous: "NORMAL" });
    expect(await bytesPerHotRun(store, 2_000, woken)).toBeLessThan(ceiling);
  });
});
