import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { inBatches } from "./queue.mjs";

/**
 * graphile-worker on PostgreSQL, with the settings of its performance page: a local queue of 500 jobs, batched completions, 24 jobs in
 * parallel over 25 connections.
 *
 * @type {import("./queue.mjs").OpenQueue}
 */
export async function openQueue({ url }, handle) {
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  /** @type {import("graphile-worker").Runner | null} */
  let runner = null;
  return {
    settings: `${JOBS} jobs at a time, localQueue.size ${LOCAL_QUEUE}, completeJobBatchDelay 0, pool of ${JOBS + 1}; completed jobs are deleted`,
    fill: (jobs) =>
      inBatches(jobs, (numbers) => utils.addJobs(numbers.map((id) => ({ identifier: "job", payload: { id } })))),
    async work() {
      runner = await run({
        preset: {
          worker: {
            connectionString: url,
            concurrentJobs: JOBS,
            maxPoolSize: JOBS + 1,
            localQueue: { size: LOCAL_QUEUE },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            logger,
          },
        },
        noHandleSignals: true,
        taskList: { job: async () => void (await handle()) },
      });
    },
    async stop() {
      await runner?.stop();
      await utils.release();
    },
  };
}

const JOBS = 24;
const LOCAL_QUEUE = 500;
