import { median } from "../stats.mjs";
import { shareOfCore } from "./core-share.mjs";
import { openPostgresRows } from "./postgres-rows.mjs";

/** The raw limits of PostgreSQL: arrays of 500 rows on two connections, and single rows. */

const ROWS = 500;
const CONNECTIONS = 2;

/** @param {{ place: import("../place.mjs").PostgresPlace, singleMs: number, batchMs: number }} options */
export async function measure({ place, singleMs, batchMs }) {
  const tables = [];
  for (let n = 0; n < CONNECTIONS; n += 1) tables.push(await openPostgresRows(place.url));
  const single = [];
  const endAt = performance.now() + singleMs;
  while (performance.now() < endAt) single.push(await tables[0].commit());
  const rowsPerSecond = await arrays(tables, batchMs);
  for (const table of tables) await table.close();
  return { commitMs: median(single), rowsPerSecond, coreShare: shareOfCore(200) };
}

/** @param {readonly { commitMany(rows: number): Promise<void> }[]} tables @param {number} forMs */
async function arrays(tables, forMs) {
  const startedAt = performance.now();
  const rows = await Promise.all(
    tables.map(async (table) => {
      let written = 0;
      for (; performance.now() - startedAt < forMs; written += ROWS) await table.commitMany(ROWS);
      return written;
    }),
  );
  return (rows.reduce((sum, written) => sum + written, 0) / (performance.now() - startedAt)) * 1_000;
}
