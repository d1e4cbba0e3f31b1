import { mkdtempSync, rmSync } from "node:fs";
import type { HeapProfiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEngine, memoryStore, workflow } from "./index.ts";
import { sqliteStore } from "./store/sqlite/index.ts";
import type { Store } from "./store/store.ts";

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
