import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/** Executes tests of the core on another runtime: `npm run test:elsewhere -- bun` or `-- deno`, optionally with test files. */

const VITEST = join("node_modules", "vitest", "vitest.mjs");

/** Packages of the registry, by runtime. @type {Readonly<Record<string, { package: string, args: readonly string[] }>>} */
const RUNTIMES = {
  bun: { package: "bun@1.4.4", args: ["bun", "--bun", VITEST] },
  deno: { package: "deno@2.9.6", args: ["deno", "run", "-A", VITEST] },
};

/** Tests that need no server and no other process. */
const TESTS = ["engine", "host/", "lessons", "model/", "rules/", "runtime/turns", "store/kv/", "store/memory/"];

/** Tests of one runtime only. @type {Readonly<Record<string, readonly string[]>>} */
const MORE = { deno: ["testing/explore/", "testing/replay-journal", "testing/test-engine"] };

const [name = "", ...files] = process.argv.slice(2);
const runtime = RUNTIMES[name];
if (runtime === undefined) {
  console.error(`unknown runtime "${name}"; use ${Object.keys(RUNTIMES).join(" or ")}`);
  process.exit(2);
}
const tests = files.length > 0 ? files : [...TESTS, ...(MORE[name] ?? [])].map((path) => `packages/core/src/${path}`);
// On these runtimes Vitest exits with 0 even if a test fails, so the report is read.
const folder = mkdtempSync(join(tmpdir(), "pawl-elsewhere-"));
const report = join(folder, "report.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
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
    return JSON.parse(readFileSync(report, "utf8")).success === true;
  } catch {
    console.error("the tests wrote no report");
    return false;
  }
}
