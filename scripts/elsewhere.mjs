import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/** Runs tests of the core on another runtime than Node: `npm run test:elsewhere -- bun` or `-- deno`, and which tests. */

const VITEST = join("node_modules", "vitest", "vitest.mjs");

/** From the registry, by package. @type {Readonly<Record<string, { package: string, args: readonly string[] }>>} */
const RUNTIMES = {
  bun: { package: "bun@1.4.4", args: ["bun", "--bun", VITEST] },
  deno: { package: "deno@2.9.6", args: ["deno", "run", "-A", VITEST] },
};

/** What needs no server and no other process. */
const TESTS = ["engine", "host/", "lessons", "model/", "rules/", "runtime/turns", "store/kv/", "store/memory/"];

const [name = "", ...asked] = process.argv.slice(2);
const runtime = RUNTIMES[name];
if (runtime === undefined) {
  console.error(`name a runtime: ${Object.keys(RUNTIMES).join(" or ")}`);
  process.exit(2);
}
const tests = asked.length > 0 ? asked : TESTS.map((path) => `packages/core/src/${path}`);
const args = ["exec", "--yes", `--package=${runtime.package}`, "--", ...runtime.args, "run", ...tests];
const { status } = spawnSync("npm", args, {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, PAWL_TEST_STAGE: process.env.PAWL_TEST_STAGE ?? "embedded" },
});
process.exit(status ?? 1);
