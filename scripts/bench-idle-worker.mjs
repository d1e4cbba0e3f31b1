import { createEngine } from "pawl";
import { postgresStore } from "pawl/postgres";
import { fresh, sleeper } from "./sleeping-runs.mjs";

/**
 * A worker of `bench-idle.mjs`. It says how much memory and CPU it has used, and how long its claims took.
 *
 * @typedef {object} WorkerReport
 * @property {number} rssBytes The most that it had since the last report.
 * @property {number} cpuMs
 * @property {number[]} claimsMs
 */

const LOOK_MS = 1_000;
const [url = ""] = process.argv.slice(2);
const store = postgresStore(url);
/** @type {number[]} */
let claimsMs = [];
let rssBytes = 0;

const { claim } = store;
store.claim = async (request) => {
  const startedAt = performance.now();
  const runs = await claim.call(store, request);
  claimsMs.push(performance.now() - startedAt);
  return runs;
};
const engine = await createEngine({ store, workflows: [sleeper, fresh] });
const look = () => {
  rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
};
const looking = setInterval(look, LOOK_MS);
// Whoever measures has gone: so does this.
process.on("disconnect", () => process.exit());
process.on("message", (message) => {
  if (message === "stop") {
    clearInterval(looking);
    void engine.shutdown().then(() => process.disconnect());
    return;
  }
  look();
  const { user, system } = process.cpuUsage();
  process.send?.({ rssBytes, cpuMs: (user + system) / 1_000, claimsMs });
  [rssBytes, claimsMs] = [0, []];
});
process.send?.("ready");
