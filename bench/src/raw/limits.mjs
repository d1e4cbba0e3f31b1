import { median } from "../stats.mjs";
import { openRows } from "./rows.mjs";

/** The raw limit beside which throughput is put. */

const BATCH = 100;

/** @param {{ folder: string, singleMs: number, batchMs: number }} options */
export async function measure({ folder, singleMs, batchMs }) {
  const rows = openRows(folder);
  const single = repeat(() => rows.commit(1), singleMs);
  const batches = repeat(() => rows.commit(BATCH), batchMs);
  const { driver, settings } = rows;
  rows.close();
  const batchesMs = batches.reduce((sum, ms) => sum + ms, 0);
  return {
    driver,
    settings,
    commitMs: median(single),
    rowsPerSecond: ((batches.length * BATCH) / batchesMs) * 1_000,
    coreShare: shareOfCore(200),
  };
}

/** @param {() => number} work @param {number} forMs */
function repeat(work, forMs) {
  const took = [];
  const endAt = performance.now() + forMs;
  while (performance.now() < endAt) took.push(work());
  return took;
}

/** How much of a core this process gets when it asks for a whole one. @param {number} forMs */
function shareOfCore(forMs) {
  const [cpuBefore, startedAt] = [process.cpuUsage(), performance.now()];
  let sum = 0;
  while (performance.now() - startedAt < forMs) sum += Math.sqrt(sum + 1);
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1_000 / (performance.now() - startedAt);
}
