import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processStat } from "../process-cpu.mjs";
import { pause } from "../stats.mjs";

/**
 * Restate's server as a child process, with free ports and a temporary data folder. The folder is on the file system of this package,
 * because the system's temporary folder may be in memory.
 */

const BINARY = fileURLToPath(
  new URL(`../../node_modules/@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`, import.meta.url),
);
const CACHE = fileURLToPath(new URL("../../.cache/", import.meta.url));
const CHECKS_MAX = 300;
const GAP_MS = 100;

/** True if its package has a binary for this platform. */
export function hasRestate() {
  return existsSync(BINARY);
}

/** @param {Readonly<Record<string, string>>} settings Names as in its environment, without the prefix. */
export async function startRestate(settings) {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "restate-"));
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const given = {
    BASE_DIR: folder,
    NODE_NAME: "bench",
    LISTEN_MODE: "tcp",
    BIND_IP: "127.0.0.1",
    BIND_PORT: String(node),
    INGRESS__BIND_PORT: String(ingress),
    ADMIN__BIND_PORT: String(admin),
    DISABLE_TELEMETRY: "true",
    LOG_FILTER: "error,octocrab=off",
    ...settings,
  };
  const own = Object.fromEntries(Object.entries(given).map(([name, value]) => [`RESTATE_${name}`, value]));
  const child = spawn(BINARY, ["--no-logo"], {
    env: { ...process.env, ...own },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const end = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", end);
  await whenReady(`http://127.0.0.1:${admin}/health`);
  await whenReady(`http://127.0.0.1:${ingress}/restate/health`);
  return {
    ingress: `http://127.0.0.1:${ingress}`,
    admin: `http://127.0.0.1:${admin}`,
    cpuMicros: () => processStat(child.pid ?? 0)?.cpuMicros ?? Number.NaN,
    bytes: () => bytesOf(folder),
    stop: end,
  };
}

/** @param {string} url */
async function whenReady(url) {
  for (let check = 0; check < CHECKS_MAX; check += 1) {
    if (await isReady(url)) return;
    await pause(GAP_MS);
  }
  throw new Error(`Restate's server did not reply at ${url}`);
}

/** @param {string} url */
async function isReady(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** @param {string} folder @returns {number} */
function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? bytesOf(join(folder, entry.name)) : statSync(join(folder, entry.name)).size))
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
