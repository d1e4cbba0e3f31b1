import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
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

/** What is tried on some alone. @type {Readonly<Record<string, readonly string[]>>} */
const MORE = { deno: ["testing/explore/", "testing/replay-journal", "testing/test-engine"] };

const [name = "", ...asked] = process.argv.slice(2);
const runtime = RUNTIMES[name];
if (runtime === undefined) {
  console.error(`name a runtime: ${Object.keys(RUNTIMES).join(" or ")}`);
  process.exit(2);
}
const tests = asked.length > 0 ? asked : [...TESTS, ...(MORE[name] ?? [])].map((path) => `packages/core/src/${path}`);
// These runtimes end with 0 whatever the tests say, so what they found is read.
const folder = mkdtempSync(join(tmpdir(), "pawl-elsewhere-"));
const found = join(folder, "found.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${found}`];
const args = ["exec", "--yes", `--package=${runtime.package}`, "--", ...runtime.args, "run", ...reporters, ...tests];
const { status } = spawnSync("npm", args, {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, PAWL_TEST_STAGE: process.env.PAWL_TEST_STAGE ?? "embedded" },
});
const isGood = succeeded();
rmSync(folder, { recursive: true, force: true });
process.exit(isGood ? (status ?? 1) : 1);

function succeeded() {
  try {
    return JSON.parse(readFileSync(found, "utf8")).success === true;
  } catch {
    console.error("the tests did not come to their end");
    return false;
  }
}
