import { type Job, runJob } from "./job.ts";

/** A process of the pool, which executes one job after the other. */
process.on("message", (job: Job) => {
  void runJob(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
