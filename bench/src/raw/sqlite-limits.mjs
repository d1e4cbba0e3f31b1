import { median } from "../stats.mjs";
import { shareOfCore } from "./core-share.mjs";
import { openSqliteRows } from "./sqlite-rows.mjs";

/** The raw limit of SQLite. */

const BATCH = 100;

/** @param {{ place: import("../place.mjs").SqlitePlace, singleMs: number, batchMs: number }} options */
export async function measure({ place, singleMs, batchMs }) {
  const rows = openSqliteRows(place.folder);
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
