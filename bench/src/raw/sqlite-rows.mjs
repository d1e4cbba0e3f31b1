import { join } from "node:path";
import { findDriver, settingsOf } from "../driver.mjs";

/**
 * A plain table with rows like those of a journal and no other index, written with the same driver and durability: the limit of this
 * host. A "commit" is a transaction of one such row.
 */

const TABLE = `CREATE TABLE rows (run INTEGER NOT NULL, seq INTEGER NOT NULL, location TEXT NOT NULL, kind TEXT NOT NULL,
  outcome TEXT NOT NULL, attempts INTEGER NOT NULL, started_at INTEGER NOT NULL, at INTEGER NOT NULL, detail TEXT, payload TEXT)`;

/** Enough for the WAL to reach its full length. After that it is overwritten, and a sync does not grow the file. */
const WARM_ROWS = 80_000;
const WARM_COMMITS = 50;

/** @param {string} folder */
export function openSqliteRows(folder) {
  const driver = findDriver();
  const database = new driver.DatabaseSync(join(folder, "raw.db"));
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA cache_size = -16384");
  database.exec(TABLE);
  const write = writer(database);
  write(WARM_ROWS);
  for (let n = 0; n < WARM_COMMITS; n += 1) write(1);
  return {
    driver: `${driver.name}, SQLite ${driver.version}`,
    settings: settingsOf(database),
    /** Writes rows in one transaction. Returns the duration in ms. @param {number} rows */
    commit(rows) {
      const startedAt = performance.now();
      write(rows);
      return performance.now() - startedAt;
    },
    close: () => database.close(),
  };
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
      const payload = JSON.stringify({ step, ok: true });
      insert.run(written, step + 1, `step-${step}`, "step", "ok", 1, now, now, null, payload);
    }
    commit.run();
  };
}
