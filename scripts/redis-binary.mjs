import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/**
 * Finds a Redis server to test with: `PAWL_REDIS_SERVER`, an installed one, or one from Debian's packages, unpacked under
 * node_modules/.cache without installation.
 *
 * @typedef {object} Binary
 * @property {string} file
 * @property {Readonly<Record<string, string>>} env Added to the environment: the path of its libraries.
 */

const CACHE = join(ROOT, "node_modules", ".cache", "redis");
const VALKEY_CACHE = join(ROOT, "node_modules", ".cache", "valkey");
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
  if (!unpack(CACHE, (folder) => download(folder) || (run("apt-get", ["update"], folder) && download(folder)))) {
    throw new Error("Redis server not found; install one, or set PAWL_REDIS_SERVER");
  }
  return unpackedIn(CACHE, "redis-server");
}

/** Valkey from Debian's backports, which need not be configured on the system. Null if the download fails. @returns {Binary | null} */
export function findValkey() {
  const isUnpacked = unpack(VALKEY_CACHE, (folder) => {
    const suite = `${codename()}-backports`;
    const list = join(folder, "sources.list");
    writeFileSync(list, `deb http://deb.debian.org/debian ${suite} main\n`);
    for (const name of ["lists", "cache"]) mkdirSync(join(folder, name));
    const aptOptions = Object.entries({
      "Dir::Etc::sourcelist": list,
      "Dir::Etc::sourceparts": "/dev/null",
      "Dir::State::lists": join(folder, "lists"),
      "Dir::Cache": join(folder, "cache"),
    }).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    const packages = ["valkey-server", "valkey-tools"].map((name) => `${name}/${suite}`);
    return (
      run("apt-get", [...aptOptions, "update"], folder) &&
      run("apt-get", [...aptOptions, "download", ...packages], folder) &&
      run("apt-get", ["download", "libatomic1", "libjemalloc2", "liblzf1"], folder)
    );
  });
  return isUnpacked ? unpackedIn(VALKEY_CACHE, "valkey-server") : null;
}

/**
 * Several processes may do this at once. Each unpacks its own copy, and the first to finish moves its copy into the cache.
 *
 * @param {string} cache @param {(folder: string) => boolean} fetch Downloads packages into the folder.
 */
function unpack(cache, fetch) {
  if (existsSync(cache)) return true;
  const parent = join(ROOT, "node_modules", ".cache");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "redis-"));
  try {
    if (!fetch(folder)) return false;
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".deb"))) {
      if (!run("dpkg", ["-x", file, "root"], folder)) throw new Error(`could not unpack ${file}`);
    }
    if (!existsSync(cache)) moveInto(join(folder, "root"), cache);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The code name of the installed Debian release. */
function codename() {
  return /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "";
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

/** @param {string} root @param {string} name @returns {Binary} */
function unpackedIn(root, name) {
  const libraries = join(root, "usr", "lib");
  const folders = readdirSync(libraries).map((folder) => join(libraries, folder));
  return { file: join(root, "usr", "bin", name), env: { LD_LIBRARY_PATH: folders.join(":") } };
}
