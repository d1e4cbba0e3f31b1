import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findNode24 } from "../node24.mjs";
import { hasRestate } from "./restate-server.mjs";

/** Which peers can be measured here, and what is to be said of the others. */

/** absurd keeps its schema in its repository, not in its package: whoever measures puts the file here. */
export const ABSURD_SQL = fileURLToPath(new URL("../../.cache/absurd.sql", import.meta.url));

const NODE = "there is no Node of 22.18 or newer here, which it asks for";

/** TypeScript engines that keep their runs in PostgreSQL. */
export function postgresPeers() {
  return ["openworkflow", "dbos", ...(existsSync(ABSURD_SQL) ? ["absurd"] : [])];
}

/** Whether Restate's server can be started here. */
export function canRestate() {
  return hasRestate() && findNode24() !== null;
}

/** @param {string} store @returns {readonly string[]} */
export function leftOut(store) {
  const node = findNode24() === null;
  switch (store) {
    case "postgres":
      return [
        ...(existsSync(ABSURD_SQL)
          ? []
          : ["absurd: left out; its sql/absurd.sql of version 0.5.0 is not in bench/.cache (docs/benchmarks.md)"]),
        ...(hasRestate() ? [] : ["Restate: left out; its package brings no server for this platform"]),
        ...(node ? [`Restate, pg-boss, graphile-worker: left out; ${NODE}`] : []),
      ];
    case "redis":
      return node ? [`BullMQ: left out; the queues are measured together, and for two ${NODE}`] : [];
    default:
      return [];
  }
}
