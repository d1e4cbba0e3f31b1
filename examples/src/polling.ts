/**
 * A polling loop that may run for months. Each iteration ends with `continueAs`, so the journal contains only one iteration. The state of
 * the next iteration is its input.
 */
import { createEngine, memoryStore, workflow } from "pawl";

interface Poll {
  readonly job: string;
  readonly round: number;
}

/** A stand-in for a service whose job takes some time. */
function progressOf(_job: string, round: number): number {
  return Math.min(100, round * 30);
}

const watchJob = workflow("watch-job", async (ctx, input: Poll): Promise<string> => {
  const progress = await ctx.step("ask", () => progressOf(input.job, input.round));
  if (progress === 100) return `${input.job} was done in round ${input.round}`;
  await ctx.sleep("20 ms");
  return await ctx.continueAs({ ...input, round: input.round + 1 });
});

const engine = await createEngine({ store: memoryStore(), workflows: [watchJob] });
const run = await engine.start(watchJob, { job: "render", round: 1 });
console.log(await run.result());

const summary = await engine.get(run.id);
const journal = await run.journal();
console.log(`continued ${summary?.generation} times; its journal holds ${journal.length} record`);
await engine.shutdown();
