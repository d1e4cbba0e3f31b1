import { statSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "pawl";
import { sqliteStore } from "pawl/sqlite";

/** @param {string} folder */
export function databasePath(folder) {
  return join(folder, "pawl.db");
}

/**
 * An engine as a user would make it: a file, defaults, `synchronous=FULL` unless told.
 *
 * @param {string} folder
 * @param {readonly any[]} workflows
 * @param {Record<string, any> & { synchronous?: "FULL" | "NORMAL", source?: any }} [options]
 */
export async function openEngine(folder, workflows, options = {}) {
  const { synchronous = "FULL", source = databasePath(folder), ...rest } = options;
  return await createEngine({ store: sqliteStore(source, { synchronous }), workflows, ...rest });
}

/** Bytes of the database once its log is merged; call after shutdown. @param {string} folder */
export function databaseBytes(folder) {
  return statSync(databasePath(folder)).size;
}
