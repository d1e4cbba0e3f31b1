import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findNode24 } from "./node24.mjs";
import { runSection, stopOnSignals } from "./sections.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The test command: all sections that a change must pass. `npm test -- check unit` runs only these sections.
 *
 * @import { Section } from "./sections.mjs"
 */

const SEEDS = "1500";
const KILLS = "20";
const REDIS_KILLS = "10";
const SERVER_KILLS = "3";

process.chdir(ROOT);
stopOnSignals();
const folder = mkdtempSync(join(tmpdir(), "pawl-test-"));
const VITEST = join("node_modules", "vitest", "vitest.mjs");
const STRICT = `${process.env.NODE_OPTIONS ?? ""} --unhandled-rejections=strict`.trim();

/** @param {string} script @param {readonly string[]} args */
const npmRun = (script, ...args) => ({ file: "npm", args: ["run", "--silent", script, "--", ...args] });

/** @param {string} name @param {string} title @param {string} node @param {readonly string[]} filters @returns {Section} */
function vitest(name, title, node, filters) {
  const report = join(folder, `${name}.json`);
  const args = [VITEST, "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...filters];
  return { name, title, report, commands: [{ file: node, args, env: { NODE_OPTIONS: STRICT, NO_COLOR: "1" } }] };
}

/** Tests of the engine that depend on the store. `PAWL_TEST_STAGE` selects the store. */
const STORED = [
  "engine.test",
  "messages",
  "events",
  "children",
  "control",
  "steps",
  "async-context",
  "large-batches",
].map((name) => `packages/core/src/engine/${name}`);

const EXPLORE = ["examples/src/explore.test.ts", "packages/core/src/testing/explore/explore.test.ts"];
const NOT_EXPLORE = EXPLORE.map((file) => `--exclude=${file}`);

/** Without `STRICT`: the faulty workflows have unhandled rejections, which must not end the process. @returns {readonly Section[]} */
function exploreSection() {
  const section = vitest("explore", "explore finds faulty workflows", process.execPath, EXPLORE);
  return [{ ...section, commands: section.commands.map((command) => ({ ...command, env: { NO_COLOR: "1" } })) }];
}

/** Tests all stores but PostgreSQL in the section `unit`. */
const FUZZ = "test/fuzz/src/fuzz.test.ts";

/** PostgreSQL is slower than SQLite, so tests have more time. @returns {readonly Section[]} */
function postgresSection() {
  const filters = ["--testTimeout=180000", ...STORED, "packages/core/src/operator/move-run", FUZZ];
  return [staged(vitest("postgres", "the engine on PostgreSQL", process.execPath, filters), "postgres")];
}

/** In a host's namespace, with runs that stay in memory and runs that do not. @returns {readonly Section[]} */
function hostSection() {
  return [staged(vitest("host", "the engine in a host's namespace", process.execPath, STORED), "host")];
}

/** Node 24 has its own SQLite. Tests on servers are not repeated. @param {string} node @returns {Section} */
function onNode24(node) {
  const servers = ["--exclude=**/store/redis/**", "--exclude=**/store/postgres/**"];
  const section = vitest("node24", "the core on Node 24, embedded", node, [
    "packages/core",
    ...servers,
    ...NOT_EXPLORE,
  ]);
  return staged(section, "embedded");
}

/** @param {Section} section @param {"embedded" | "host" | "postgres"} stage @returns {Section} */
function staged(section, stage) {
  const commands = section.commands.map((command) => ({
    ...command,
    env: { ...command.env, PAWL_TEST_STAGE: stage },
  }));
  return { ...section, commands };
}

/** @returns {readonly Section[]} */
function node24Section() {
  const node = findNode24();
  if (node !== null) return [onNode24(node)];
  console.log("\n!! NOT TESTED ON NODE 24: set PAWL_NODE24");
  if (process.env.CI !== "true") return [];
  const text = "Node 24 not found; CI must test on it";
  return [
    { name: "node24", title: "the core on Node 24", commands: [{ file: "sh", args: ["-c", `echo ${text}; exit 1`] }] },
  ];
}

/** @type {Readonly<Record<string, string>>} */
const scripts = JSON.parse(readFileSync("package.json", "utf8")).scripts;

/** By name; created just before the section runs. @type {Readonly<Record<string, () => readonly Section[]>>} */
const SECTIONS = {
  check: () => [
    { name: "check", title: "format, lint, types, architecture", commands: [npmRun("check"), npmRun("walk")] },
  ],
  build: () => [{ name: "build", title: "build", commands: [npmRun("build")] }],
  unit: () => [vitest("unit", "tests", process.execPath, NOT_EXPLORE)],
  explore: exploreSection,
  package: () => [
    {
      name: "package",
      title: "the packed package in an empty folder",
      commands: [{ file: process.execPath, args: [join("scripts", "packed.mjs")] }],
    },
  ],
  postgres: postgresSection,
  host: hostSection,
  node24: node24Section,
  sim: () =>
    "sim" in scripts
      ? [{ name: "sim", title: `the simulator, ${SEEDS} seeds`, commands: [npmRun("sim", "--seeds", SEEDS)] }]
      : [],
  chaos: () =>
    "chaos" in scripts
      ? [
          {
            name: "chaos",
            title: `real crashes, ${KILLS} kills`,
            commands: [npmRun("chaos", "--store", "sqlite", "--kills", KILLS)],
          },
          {
            name: "chaos-postgres",
            title: `real crashes on PostgreSQL, ${REDIS_KILLS} kills of workers and ${SERVER_KILLS} of the server`,
            commands: [npmRun("chaos", "--store", "postgres", "--kills", REDIS_KILLS, "--server-kills", SERVER_KILLS)],
          },
          {
            name: "chaos-redis",
            title: `real crashes on Redis, ${REDIS_KILLS} kills of workers and ${SERVER_KILLS} of the server`,
            commands: [npmRun("chaos", "--store", "redis", "--kills", REDIS_KILLS, "--server-kills", SERVER_KILLS)],
          },
        ]
      : [],
};

const selected = process.argv.slice(2);
const unknown = selected.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`unknown section ${unknown.join(", ")}; use ${Object.keys(SECTIONS).join(", ")}`);
  process.exit(2);
}

let passed = 0;
let failed = 0;
for (const [name, make] of Object.entries(SECTIONS)) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  for (const section of make()) {
    const counts = await runSection(section, folder);
    passed += counts.passed;
    failed += counts.failed;
  }
}
if (failed === 0) rmSync(folder, { recursive: true, force: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
