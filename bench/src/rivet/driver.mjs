import { statSync } from "node:fs";
import { join } from "node:path";
import { findDriver, settingsOf } from "../driver.mjs";

/**
 * The host driver of Rivet's workflow engine: sorted keys and values with one namespace per run, in one SQLite file with Pawl's driver,
 * WAL and `synchronous=FULL`. A batch is one transaction, and statements are prepared once. The measured workload needs no alarms and no
 * messages.
 *
 * @import { EngineDriver } from "@rivetkit/workflow-engine"
 */

const TABLE =
  "CREATE TABLE kv (run INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID";

/** @param {string} folder */
export function openKv(folder) {
  const { DatabaseSync } = findDriver();
  const path = join(folder, "rivet.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA cache_size = -16384");
  database.exec(TABLE);
  const statements = {
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    get: database.prepare("SELECT value FROM kv WHERE run = ? AND key = ?"),
    put: database.prepare(
      "INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (run, key) DO UPDATE SET value = excluded.value",
    ),
    remove: database.prepare("DELETE FROM kv WHERE run = ? AND key = ?"),
    removeRange: database.prepare("DELETE FROM kv WHERE run = ? AND key >= ? AND key < ?"),
    list: database.prepare("SELECT key, value FROM kv WHERE run = ? AND key >= ? AND key < ? ORDER BY key"),
  };
  let commits = 0;
  /** @param {() => void} change */
  const inTransaction = (change) => {
    commits += 1;
    statements.begin.run();
    change();
    statements.commit.run();
  };
  return {
    settings: settingsOf(database),
    commits: () => commits,
    /** The namespace of a run. @param {number} run */
    of: (run) => namespace(run, statements, inTransaction),
    bytes() {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return statSync(path).size;
    },
  };
}

/** @param {number} run @param {any} statements @param {(change: () => void) => void} inTransaction @returns {EngineDriver} */
function namespace(run, statements, inTransaction) {
  return {
    workerPollInterval: 50,
    get: async (key) => statements.get.get(run, key)?.value ?? null,
    set: async (key, value) => inTransaction(() => statements.put.run(run, key, value)),
    delete: async (key) => inTransaction(() => statements.remove.run(run, key)),
    async batchDelete(keys) {
      inTransaction(() => {
        for (const key of keys) statements.remove.run(run, key);
      });
    },
    deletePrefix: async (prefix) => inTransaction(() => statements.removeRange.run(run, prefix, afterPrefix(prefix))),
    deleteRange: async (start, end) => inTransaction(() => statements.removeRange.run(run, start, end)),
    list: async (prefix) => statements.list.all(run, prefix, afterPrefix(prefix)),
    async batch(writes) {
      inTransaction(() => {
        for (const { key, value } of writes) statements.put.run(run, key, value);
      });
    },
    setAlarm: async () => undefined,
    clearAlarm: async () => undefined,
    messageDriver: {
      addMessage: async () => undefined,
      receiveMessages: async () => [],
      completeMessage: async () => undefined,
    },
    waitForMessages: () => new Promise(() => undefined),
  };
}

/** The first key after all keys with this prefix. A prefix of only 0xff bytes has none, and the engine has no such keys. @param {Uint8Array} prefix */
function afterPrefix(prefix) {
  const end = Uint8Array.from(prefix);
  for (let at = end.length - 1; at >= 0; at -= 1) {
    if (end[at] < 0xff) {
      end[at] += 1;
      return end.slice(0, at + 1);
    }
  }
  return Uint8Array.of(0xff);
}
