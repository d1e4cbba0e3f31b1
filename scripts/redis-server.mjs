import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.mjs";
import { findRedis } from "./redis-binary.mjs";

/**
 * A Redis server for tests, with its own port and a temporary data folder.
 *
 * @typedef {object} RedisServer
 * @property {string} url
 * @property {number} port
 * @property {() => Promise<void>} kill Kills the server with SIGKILL. Its files stay.
 * @property {() => Promise<void>} start Restarts the killed server on the same port and files.
 * @property {() => void} freeze Stops the server with its connections open, so that it does not reply.
 * @property {() => Promise<void>} stop Kills the server and removes its files.
 */

const HOST = "127.0.0.1";
const START_MS_MAX = 20_000;

/** Defaults that the store accepts: durable and without eviction. A test overrides them with `settings`. */
const SETTINGS = { appendonly: "yes", appendfsync: "everysec", save: "", "maxmemory-policy": "noeviction" };

/** @param {Readonly<Record<string, string>>} [settings] @returns {Promise<RedisServer>} */
export async function startRedis(settings = {}) {
  const binary = findRedis();
  const folder = mkdtempSync(join(tmpdir(), "pawl-redis-"));
  const port = await freePort();
  const given = { bind: HOST, port: String(port), dir: folder, daemonize: "no", ...SETTINGS, ...settings };
  const args = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
  /** @type {import("node:child_process").ChildProcess | null} */
  let child = null;
  const kill = async () => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const start = async () => {
    child = spawn(binary.file, args, { env: { ...process.env, ...binary.env }, stdio: ["ignore", "pipe", "pipe"] });
    await whenReady(child, port);
  };
  const endWithParent = () => child?.kill("SIGKILL");
  process.once("exit", endWithParent);
  await start();
  return {
    url: `redis://${HOST}:${port}`,
    port,
    kill,
    start,
    freeze: () => void child?.kill("SIGSTOP"),
    async stop() {
      await kill();
      process.off("exit", endWithParent);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server replies. @param {import("node:child_process").ChildProcess} child @param {number} port */
async function whenReady(child, port) {
  let output = "";
  child.stdout?.on("data", (text) => {
    output = `${output}${text}`.slice(-4_000);
  });
  child.stderr?.on("data", (text) => {
    output = `${output}${text}`.slice(-4_000);
  });
  const endAt = performance.now() + START_MS_MAX;
  while (!(await isReady(port))) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || performance.now() > endAt) throw new Error(`could not start the Redis server:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** While the server loads its files it replies to PING with an error. @param {number} port @returns {Promise<boolean>} */
function isReady(port) {
  return new Promise((resolve) => {
    const socket = connect(port, HOST, () => socket.write("PING\r\n"));
    const settle = (/** @type {boolean} */ value) => {
      socket.destroy();
      resolve(value);
    };
    socket.once("data", (data) => settle(data.toString().startsWith("+PONG")));
    socket.once("error", () => settle(false));
  });
}
