import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** absurd keeps its schema in its repository, not in its package: whoever measures puts the file here. */
export const ABSURD_SQL = fileURLToPath(new URL("../../.cache/absurd.sql", import.meta.url));

/** Those that can be measured here, and what is to be said of the others. */
export function findPeers() {
  const all = ["openworkflow", "dbos"];
  return existsSync(ABSURD_SQL)
    ? { names: [...all, "absurd"], notes: [] }
    : {
        names: all,
        notes: ["absurd: left out; its sql/absurd.sql of version 0.5.0 is not in bench/.cache (docs/benchmarks.md)"],
      };
}
