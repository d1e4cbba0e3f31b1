import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findNode24 } from "../node24.mjs";
import { hasRestate } from "./restate-server.mjs";

/** The peers that can be measured here, and the reasons for the others. */

/** The schema of absurd is in its repository, not in its package. Copy the file to this path to measure absurd. */
export const ABSURD_SQL = fileURLToPath(new URL("../../.cache/absurd.sql", import.meta.url));

const NODE = "needs Node 22.18 or newer, which is not installed";

/** TypeScript engines that store their runs in PostgreSQL. */
export function postgresPeers() {
  return ["openworkflow", "dbos", ...(existsSync(ABSURD_SQL) ? ["absurd"] : [])];
}

/** True if Restate's server can be started here. */
export function canRestate() {
  return hasRestate() && findNode24() !== null;
}

/** @param {string} store @returns {readonly string[]} */
export function omittedPeers(store) {
  const node = findNode24() === null;
  switch (store) {
    case "postgres":
      return [
        ...(existsSync(ABSURD_SQL)
          ? []
          : ["absurd: omitted; sql/absurd.sql of version 0.5.0 is not in bench/.cache (docs/benchmarks.md)"]),
        ...(hasRestate() ? [] : ["Restate: omitted; its package has no server for this platform"]),
        ...(node ? [`Restate, pg-boss, graphile-worker: omitted; each ${NODE}`] : []),
      ];
    case "redis":
      return node ? [`BullMQ: omitted; the queues are measured together, and one of them ${NODE}`] : [];
    default:
      return [];
  }
}
