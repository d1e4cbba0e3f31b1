import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readCommandOptions } from "./command-options.mjs";
import { ROOT } from "./sources.mjs";

/** The command `npm run fuzz -- --calls 100000 --store redis`: every public method is called with nasty values. */

const USAGE = "npm run fuzz [-- --calls N] [--store memory|sqlite|redis|postgres] [--seed N]";
const { calls, store, seed } = readCommandOptions(USAGE, {
  calls: 100_000,
  store: ["memory", "sqlite", "redis", "postgres"],
  seed: 20_261_201,
});
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", join("test", "fuzz"), "--disable-console-intercept"], {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, PAWL_FUZZ_CALLS: String(calls), PAWL_FUZZ_STORE: store, SEED: String(seed) },
});
process.exitCode = status ?? 1;
