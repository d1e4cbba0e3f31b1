import { median } from "../stats.mjs";
import { shareOfCore } from "./core-share.mjs";
import { openRedisRows } from "./redis-rows.mjs";

/** The raw limits of Redis: transactions of a hundred entries, and of one. */

const BATCH = 100;

/** @param {{ place: import("../place.mjs").RedisPlace, singleMs: number, batchMs: number }} options */
export async function measure({ place, singleMs, batchMs }) {
  const rows = await openRedisRows(place);
  const single = await repeat(() => rows.commit(1), singleMs);
  const batches = await repeat(() => rows.commit(BATCH), batchMs);
  await rows.close();
  const batchesMs = batches.reduce((sum, ms) => sum + ms, 0);
  return {
    commitMs: median(single),
    rowsPerSecond: ((batches.length * BATCH) / batchesMs) * 1_000,
    coreShare: shareOfCore(200),
  };
}

/** @param {() => Promise<number>} work @param {number} forMs */
async function repeat(work, forMs) {
  const took = [];
  const endAt = performance.now() + forMs;
  while (performance.now() < endAt) took.push(await work());
  return took;
}
