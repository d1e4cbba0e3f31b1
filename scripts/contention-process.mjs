import { createClient, createEngine, declareWorkflow, seededRandom, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";

/**
 * A process of `contention.mjs`: a worker, and clients that execute random operations on runs that all processes share. It reports
 * the number of operations by name, and every error that a caller must not get.
 *
 * @typedef {object} ProcessReport
 * @property {Record<string, number>} counts
 * @property {string[]} wrong
 *
 * @import { Client } from "pawl"
 */

const [kind = "", at = "", clientsText = "4", secondsText = "10", seed = "0"] = process.argv.slice(2);
const RUNS = 60;
const TOPICS = 3;
const WRONG_MAX = 20;
/** Errors that a caller may get: the run does not exist, or its state does not allow the operation. */
const REFUSALS = /^(RUN_|CHILD_|REWIND_|CUT_|HISTORY_|TARGET_|NOT_)/;

/** @type {Record<string, () => import("pawl").Store>} */
const STORES = { postgres: () => postgresStore(at), redis: () => redisStore(at), sqlite: () => sqliteStore(at) };
const connect = STORES[kind];
if (connect === undefined) throw new Error(`unknown store "${kind}"; use ${Object.keys(STORES).join(", ")}`);

/** @type {Record<string, number>} */
const counts = {};
/** @type {string[]} */
const wrong = [];
const random = seededRandom(Number(seed));
const upTo = (/** @type {number} */ most) => Math.floor(random.next() * most);
const anyRun = () => `run-${upTo(RUNS)}`;
const anyTopic = () => `topic-${upTo(TOPICS)}`;

/** Sends to other runs, so that each commit changes several runs. */
const talker = workflow("talker", async (ctx, /** @type {{ n: number }} */ { n }) => {
  for (let round = 0; round < 3; round += 1) {
    const received = await ctx.select({
      go: { message: "go" },
      news: { event: anyTopicOf(n + round) },
      late: { after: "2 s" },
    });
    await ctx.send(`run-${(n + round + 1) % RUNS}`, "go", received.key);
    await ctx.emit(anyTopicOf(n + round + 1), n);
  }
  return await ctx.child(leaf, n);
});
const leaf = workflow("leaf", async (ctx, /** @type {number} */ n) => ctx.step("only", () => n));
const anyTopicOf = (/** @type {number} */ n) => `topic-${n % TOPICS}`;

/** @type {Record<string, (client: Client) => Promise<unknown>>} */
const OPERATIONS = {
  start: (client) => {
    const n = upTo(RUNS);
    return client.start(declareWorkflow("talker"), { n }, { id: `run-${n}` });
  },
  startOther: (client) => client.start(declareWorkflow("talker"), { n: upTo(RUNS) }),
  send: (client) => client.send(anyRun(), "go", "x"),
  sends: (client) => Promise.all([1, 2, 3, 4].map(() => client.send(anyRun(), "go", "x"))),
  emit: (client) => client.emit(anyTopic(), "x"),
  emitAll: (client) => client.emit(anyTopic(), "x", { consume: "all", deliver: "afterWait" }),
  cancel: (client) => client.cancel(anyRun()),
  pause: (client) => client.pause(anyRun()),
  resume: (client) => client.resume(anyRun()),
  rewind: (client) => client.rewind(anyRun(), 0),
  list: (client) => client.list({ limit: 20, workflow: "talker" }),
};
const NAMES = Object.keys(OPERATIONS);

/** @param {Client} client @param {number} untilMs */
async function work(client, untilMs) {
  while (performance.now() < untilMs) {
    const name = NAMES[upTo(NAMES.length)] ?? "list";
    try {
      await OPERATIONS[name]?.(client);
      counts[name] = (counts[name] ?? 0) + 1;
    } catch (error) {
      const { code = "", message } = /** @type {{ code?: string, message: string }} */ (error);
      if (REFUSALS.test(code)) counts[code] = (counts[code] ?? 0) + 1;
      else if (wrong.length < WRONG_MAX) wrong.push(`${name}: ${code} ${message}`);
    }
  }
}

const log = () => undefined;
const engine = await createEngine({ store: connect(), workflows: [talker, leaf], log });
engine.on("engine.broken", ({ error }) => wrong.push(`engine.broken: ${String(error)}`));
const clients = await Promise.all(
  Array.from({ length: Number(clientsText) }, () => createClient({ store: connect(), log })),
);
const untilMs = performance.now() + Number(secondsText) * 1_000;
await Promise.all(clients.map((client) => work(client, untilMs)));
await Promise.all(clients.map((client) => client.close()));
await engine.shutdown();
process.send?.({ counts, wrong });
process.disconnect?.();
