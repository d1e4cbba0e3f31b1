import Module from "node:module";
import { join } from "node:path";
import { findDriver } from "../driver.mjs";

/**
 * openworkflow 0.10 on its SQLite backend, with the settings of its documentation: a worker whose concurrency is the number of runs in
 * flight, and WAL. It imports `node:sqlite` and keeps that driver's default, `synchronous=FULL`. Here it gets the driver that Pawl uses,
 * with FULL, so that both use the same library.
 */

const { module: driver } = findDriver();
const load = Module._load;
Module._load = (request, ...rest) => (request === "node:sqlite" ? driver : load(request, ...rest));

/** @param {string} folder */
export async function openPeer(folder) {
  const { OpenWorkflow } = await import("openworkflow");
  const { BackendSqlite } = await import("openworkflow/sqlite");
  const backend = BackendSqlite.connect(join(folder, "openworkflow.db"));
  backend.db.exec("PRAGMA synchronous = FULL");
  return { backend, client: new OpenWorkflow({ backend }) };
}
