import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readCommandOptions } from "./command-options.mjs";
import { ROOT } from "./sources.mjs";

/** The command `npm run fuzz -- --calls 100000 --store redis`: every public method is called with nasty values, on one store or on all. */

const STORES = ["memory", "sqlite", "redis", "postgres"];
const USAGE = "npm run fuzz [-- --calls N] [--store all|memory|sqlite|redis|postgres] [--seed N]";
const { calls, store, seed } = readCommandOptions(USAGE, {
  calls: 100_000,
  store: ["all", ...STORES],
  seed: 20_261_201,
});
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");

/** @param {string} name @returns {boolean} whether no call failed */
function fuzz(name) {
  const { status } = spawnSync(process.execPath, [vitest, "run", join("test", "fuzz"), "--disable-console-intercept"], {
    cwd: ROOT,
    stdio: "inherit",
    // A store whose server is missing is a failure: nothing would have been called.
    env: { ...process.env, CI: "true", PAWL_FUZZ_CALLS: String(calls), PAWL_FUZZ_STORE: name, SEED: String(seed) },
  });
  return status === 0;
}

const failed = (store === "all" ? STORES : [store]).filter((name) => !fuzz(name));
if (failed.length > 0) console.log(`failed: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
