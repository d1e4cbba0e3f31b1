import { join } from "node:path";
import { findDriver, settingsOf } from "../driver.mjs";
import { median, pause, quantile } from "../stats.mjs";

/**
 * The limit of this machine: rows like those of a journal, in a plain table without a further index, written by the same
 * driver with the same durability. A "commit" is a transaction of one such row.
 */

const BATCH = 100;

/** @param {{ folder: string, singleMs: number, batchMs: number, spaced: number }} options */
export async function measure({ folder, singleMs, batchMs, spaced }) {
  const driver = findDriver();
  const database = new driver.DatabaseSync(join(folder, "raw.db"));
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA cache_size = -16384");
  database.exec(`CREATE TABLE rows (run INTEGER NOT NULL, seq INTEGER NOT NULL, location TEXT NOT NULL, kind TEXT NOT NULL,
    outcome TEXT NOT NULL, attempts INTEGER NOT NULL, started_at INTEGER NOT NULL, at INTEGER NOT NULL, detail TEXT, payload TEXT)`);
  const write = writer(database);
  for (let n = 0; n < 50; n += 1) write(1);
  const single = repeat(() => write(1), singleMs);
  const batches = repeat(() => write(BATCH), batchMs);
  const idle = [];
  for (let n = 0; n < spaced; n += 1) {
    await pause(5 + (n % 10) * 5);
    idle.push(timed(() => write(1)));
  }
  const coreShare = shareOfCore(200);
  const result = {
    driver: `${driver.name}, SQLite ${driver.version}`,
    settings: settingsOf(database),
    commitMs: median(single),
    commitP95Ms: quantile(single, 0.95),
    spacedCommitMs: median(idle),
    coreShare,
    rowsPerSecond: ((batches.length * BATCH) / total(batches)) * 1_000,
  };
  database.close();
  return result;
}

/** @param {any} database @returns {(rows: number) => void} */
function writer(database) {
  const [begin, commit] = ["BEGIN IMMEDIATE", "COMMIT"].map((sql) => database.prepare(sql));
  const insert = database.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  let written = 0;
  return (rows) => {
    begin.run();
    for (let n = 0; n < rows; n += 1) {
      written += 1;
      const step = written % 10;
      const now = Date.now();
      insert.run(
        written,
        step + 1,
        `step-${step}`,
        "step",
        "ok",
        1,
        now,
        now,
        null,
        JSON.stringify({ step, ok: true }),
      );
    }
    commit.run();
  };
}

/** @param {() => void} work @param {number} forMs */
function repeat(work, forMs) {
  const took = [];
  const endAt = performance.now() + forMs;
  while (performance.now() < endAt) took.push(timed(work));
  return took;
}

/** @param {() => void} work */
function timed(work) {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

/** How much of a core this process gets when it asks for a whole one. @param {number} forMs */
function shareOfCore(forMs) {
  const [cpuBefore, startedAt] = [process.cpuUsage(), performance.now()];
  let sum = 0;
  while (performance.now() - startedAt < forMs) sum += Math.sqrt(sum + 1);
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1_000 / (performance.now() - startedAt);
}

/** @param {readonly number[]} values */
function total(values) {
  return values.reduce((sum, value) => sum + value, 0);
}
