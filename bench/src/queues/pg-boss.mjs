import { PgBoss } from "pg-boss";
import { inBatches } from "./queue.mjs";

/**
 * pg-boss on PostgreSQL. By default a worker takes one job and polls again after two seconds. The settings for throughput are from its
 * documentation: batches, several workers per queue in a process, and no pause after a full batch.
 *
 * @type {import("./queue.mjs").OpenQueue}
 */
export async function openQueue({ url }, handle) {
  const boss = new PgBoss({ connectionString: url, max: CONNECTIONS, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("jobs");
  return {
    settings: `batches of ${BATCH}, ${WORKERS} workers in the process, burstWhenBatchFull, pool of ${CONNECTIONS}; a batch is completed as a whole`,
    fill: (jobs) =>
      inBatches(jobs, (numbers) =>
        boss.insert(
          "jobs",
          numbers.map((id) => ({ data: { id } })),
        ),
      ),
    async work() {
      const options = {
        batchSize: BATCH,
        localConcurrency: WORKERS,
        pollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
      };
      await boss.work("jobs", options, async (jobs) => {
        await Promise.all(jobs.map(() => handle()));
      });
    },
    stop: () => boss.stop({ graceful: true, timeout: 5_000 }),
  };
}

const BATCH = 100;
const WORKERS = 4;
const CONNECTIONS = 10;
