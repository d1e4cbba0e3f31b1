import { workflow } from "pawl";
import { openEngine } from "../pawl/engine.mjs";
import { inBatches } from "./queue.mjs";

/**
 * Pawl as a queue: another engine has started runs of one step, and a worker claims them. A run stores more than a job: a record of the
 * step, and its result.
 *
 * @type {import("./queue.mjs").OpenQueue}
 */
export async function openQueue(place, handle) {
  const job = workflow("job", async (ctx) => await ctx.step("only", handle));
  /** @type {any} */
  let worker = null;
  return {
    settings: "runs of one step, started by another engine; a worker with default settings",
    async fill(jobs) {
      const client = await openEngine(place, []);
      await inBatches(jobs, (numbers) => Promise.all(numbers.map((id) => client.start(job, { id }))));
      await client.shutdown();
    },
    async work() {
      worker = await openEngine(place, [job]);
    },
    async stop() {
      await worker?.shutdown();
    },
  };
}
