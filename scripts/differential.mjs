import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readCommandOptions } from "./command-options.mjs";
import { ROOT } from "./sources.mjs";

/** The command `npm run differential -- --ops 20000`: every store executes the same random ops and must return and contain the same. */

const { ops, seed } = readCommandOptions("npm run differential [-- --ops N] [--seed N]", {
  ops: 20_000,
  seed: 20_261_119,
});
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const file = join("packages", "core", "src", "store", "differential-servers.test.ts");
const { status } = spawnSync(process.execPath, [vitest, "run", file], {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, PAWL_DIFFERENTIAL_OPS: String(ops), SEED: String(seed) },
});
process.exitCode = status ?? 1;
