/**
 * A loop without an end in sight: ask, sleep, ask again. Each round ends in `continueAs`, so the journal holds one round,
 * however long the run lives. What must be known in the next round is its input.
 */
import { createEngine, memoryStore, workflow } from "pawl";

interface Poll {
  readonly job: string;
  readonly round: number;
}

/** Stands for a service whose job takes a while. */
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
