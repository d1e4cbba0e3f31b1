import { createEngine } from "pawl";
import { postgresStore } from "pawl/postgres";
import { fresh, sleeper } from "./sleeping-runs.mjs";

/**
 * A worker of `bench-idle.mjs`. It reports its memory, its CPU time and the durations of its claims.
 *
 * @typedef {object} WorkerReport
 * @property {number} rssBytes Peak since the last report.
 * @property {number} cpuMs
 * @property {number[]} claimsMs
 */

const SAMPLE_MS = 1_000;
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
const sampleMemory = () => {
  rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
};
const sampling = setInterval(sampleMemory, SAMPLE_MS);
// The benchmark has exited.
process.on("disconnect", () => process.exit());
process.on("message", (message) => {
  if (message === "stop") {
    clearInterval(sampling);
    void engine.shutdown().then(() => process.disconnect());
    return;
  }
  sampleMemory();
  const { user, system } = process.cpuUsage();
  process.send?.({ rssBytes, cpuMs: (user + system) / 1_000, claimsMs });
  [rssBytes, claimsMs] = [0, []];
});
process.send?.("ready");
