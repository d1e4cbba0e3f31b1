import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./sources.mjs";

/** The command `npm run differential -- --ops 20000`: the same random ops on every store, which must answer and hold the same. */

const { values } = parseArgs({ options: { ops: { type: "string", default: "20000" }, seed: { type: "string" } } });
if (!/^[1-9]\d*$/.test(values.ops)) throw new Error(`--ops is ${values.ops}; it must be a whole number above 0`);
const seed = values.seed === undefined ? {} : { SEED: values.seed };
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const file = join("packages", "core", "src", "store", "differential-servers.test.ts");
const { status } = spawnSync(process.execPath, [vitest, "run", file], {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, PAWL_DIFFERENTIAL_OPS: values.ops, ...seed },
});
process.exitCode = status ?? 1;
