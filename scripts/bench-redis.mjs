import { parseArgs } from "node:util";
import { createClient } from "@redis/client";
import { createEngine, workflow } from "pawl";
import { redisStore } from "pawl/redis";
import { startRedis } from "./redis-server.mjs";

/**
 * The command `npm run bench:redis`: throughput of runs of ten trivial steps, 1,000 in flight, beside what the same server does
 * with the same rows in transactions of a hundred. Both are measured in turns, since only their ratio says something.
 */

const { values } = parseArgs({
  options: { fsync: { type: "string", default: "always" }, rounds: { type: "string", default: "3" } },
});
const IN_FLIGHT = 1_000;
const WARM_MS = 1_500;
const WINDOW_MS = 4_000;
const RAW_MS = 1_500;
const RAW_BATCH = 100;
const RATIO_LEAST = 0.3;

/** @param {number} ms @returns {Promise<void>} */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Rows like those of a journal, a hundred a transaction. @param {string} url */
async function rawRows(url) {
  const client = createClient({ url });
  await client.connect();
  let written = 0;
  const startedAt = performance.now();
  while (performance.now() - startedAt < RAW_MS) {
    const batch = client.multi();
    for (let n = 0; n < RAW_BATCH; n += 1) {
      written += 1;
      const step = written % 10;
      const now = Date.now();
      const payload = JSON.stringify({ step, ok: true });
      batch.rPush(
        `raw:${written % 5_000}`,
        JSON.stringify([written, `step-${step}`, "step", "ok", payload, 1, now, now, null]),
      );
    }
    await batch.exec();
  }
  const perSecond = (written / (performance.now() - startedAt)) * 1_000;
  client.destroy();
  return perSecond;
}

/** @param {string} url @param {string} prefix */
async function steps(url, prefix) {
  let done = 0;
  const ten = workflow("ten", async (ctx) => {
    for (let step = 0; step < 10; step += 1) {
      await ctx.step(`step-${step}`, async () => {
        done += 1;
        return { step, ok: true };
      });
    }
    return { done: true };
  });
  const store = redisStore(url, { prefix });
  const commit = store.commit.bind(store);
  let commits = 0;
  store.commit = (batch) => {
    commits += 1;
    return commit(batch);
  };
  const engine = await createEngine({ store, workflows: [ten] });
  let going = true;
  const clients = Array.from({ length: IN_FLIGHT }, async () => {
    while (going) await (await engine.start(ten, undefined)).result();
  });
  await pause(WARM_MS);
  const before = { done, commits, cpu: process.cpuUsage(), at: performance.now() };
  await pause(WINDOW_MS);
  const counted = done - before.done;
  const { user, system } = process.cpuUsage(before.cpu);
  const perSecond = (counted / (performance.now() - before.at)) * 1_000;
  const result = {
    perSecond,
    cpuMicros: (user + system) / counted,
    commitsPerStep: (commits - before.commits) / counted,
  };
  going = false;
  await Promise.all(clients);
  await engine.shutdown();
  return result;
}

const server = await startRedis({ appendfsync: values.fsync });
const ratios = [];
for (let round = 1; round <= Number(values.rounds); round += 1) {
  const rawBefore = await rawRows(server.url);
  const measured = await steps(server.url, `bench${round}`);
  const raw = (rawBefore + (await rawRows(server.url))) / 2;
  const ratio = measured.perSecond / raw;
  ratios.push(ratio);
  console.log(
    `appendfsync ${values.fsync}: raw ${raw.toFixed(0)} rows/s in hundreds, pawl ${measured.perSecond.toFixed(0)} steps/s, ` +
      `ratio ${ratio.toFixed(2)}, ${measured.cpuMicros.toFixed(0)} µs of CPU and ${measured.commitsPerStep.toFixed(4)} commits a step`,
  );
}
await server.stop();
const median = ratios.sort((left, right) => left - right)[Math.floor(ratios.length / 2)] ?? 0;
console.log(`median ratio ${median.toFixed(2)}: ${median >= RATIO_LEAST ? "met" : "MISS"} (at least ${RATIO_LEAST})`);
process.exitCode = median >= RATIO_LEAST ? 0 : 1;
