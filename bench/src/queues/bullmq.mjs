import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { inBatches } from "./queue.mjs";

/**
 * BullMQ on Redis. The worker has a concurrency of 100 instead of 1, and completed jobs are removed, as its documentation recommends for
 * production.
 *
 * @type {import("./queue.mjs").OpenQueue}
 */
export async function openQueue({ url, prefix }, handle) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const working = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue("jobs", { connection, prefix });
  const worker = new Worker("jobs", handle, {
    connection: working,
    prefix,
    autorun: false,
    concurrency: CONCURRENCY,
    removeOnComplete: { count: 0 },
  });
  worker.on("error", (error) => console.error(error));
  return {
    settings: `worker concurrency ${CONCURRENCY}, removeOnComplete, over ioredis`,
    fill: (jobs) => inBatches(jobs, (numbers) => queue.addBulk(numbers.map((id) => ({ name: "job", data: { id } })))),
    async work() {
      void worker.run();
    },
    async stop() {
      await worker.close();
      await queue.close();
      connection.disconnect();
      working.disconnect();
    },
  };
}

const CONCURRENCY = 100;
