import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/**
 * A Redis server to test with: the one that is named in `PAWL_REDIS_SERVER`, one that is installed, or one from Debian's
 * packages, unpacked beside the modules without being installed.
 *
 * @typedef {object} Binary
 * @property {string} file
 * @property {Readonly<Record<string, string>>} env Added to the environment: where its libraries are.
 */

const CACHE = join(ROOT, "node_modules", ".cache", "redis");
const INSTALLED = ["redis-server", "valkey-server"];
const PACKAGES = [
  "redis-server",
  "redis-tools",
  "libatomic1",
  "libjemalloc2",
  "liblzf1",
  "liblua5.1-0",
  "libhiredis0.14",
  "lua-cjson",
  "lua-bitop",
];

/** @returns {Binary} */
export function findRedis() {
  const named = process.env.PAWL_REDIS_SERVER;
  if (named !== undefined) return { file: named, env: {} };
  const installed = INSTALLED.find((name) => spawnSync(name, ["--version"]).status === 0);
  if (installed !== undefined) return { file: installed, env: {} };
  if (!existsSync(CACHE)) fetchRedis();
  return unpackedIn(CACHE);
}

/** Several processes may fetch it at once: each unpacks a copy of its own, and the first to be done puts its copy in place. */
function fetchRedis() {
  const parent = join(ROOT, "node_modules", ".cache");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "redis-"));
  try {
    if (!download(folder)) {
      run("apt-get", ["update"], folder);
      if (!download(folder)) throw new Error("there is no Redis server: install one, or name it in PAWL_REDIS_SERVER");
    }
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".deb"))) {
      if (!run("dpkg", ["-x", file, "root"], folder)) throw new Error(`${file} could not be unpacked`);
    }
    if (!existsSync(CACHE)) moveInto(join(folder, "root"), CACHE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} from @param {string} to */
function moveInto(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(to)) throw error;
  }
}

/** @param {string} folder */
function download(folder) {
  return run("apt-get", ["download", ...PACKAGES], folder);
}

/** @param {string} file @param {readonly string[]} args @param {string} cwd */
function run(file, args, cwd) {
  return spawnSync(file, args, { cwd, stdio: "ignore" }).status === 0;
}

/** @param {string} root @returns {Binary} */
function unpackedIn(root) {
  const libraries = join(root, "usr", "lib");
  const folders = readdirSync(libraries).map((name) => join(libraries, name));
  return { file: join(root, "usr", "bin", "redis-server"), env: { LD_LIBRARY_PATH: folders.join(":") } };
}
