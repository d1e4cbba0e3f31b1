/** A fork of a run: it starts at the decision with another recorded value. The two journals are compared. */
import { createEngine, diff, memoryStore, workflow } from "pawl";

const apply = workflow("apply-for-loan", async (ctx, amount: number) => {
  const score = await ctx.step("score", () => {
    console.log("asked the bureau");
    return 480;
  });
  const limit = await ctx.step("limit", () => score * 10);
  return amount <= limit ? "granted" : "refused";
});

const engine = await createEngine({ store: memoryStore(), workflows: [apply] });
const run = await engine.start(apply, 5_000, { id: "loan-1" });
console.log(`as it was: ${await run.result()}`);

// With another score. The step is not executed again, and the original run does not change.
const better = await engine.fork("loan-1", "limit", {
  patch: { score: 510 },
  by: "ann",
  why: "the bureau mixed up two people",
});
console.log(`with another score: ${await better.result()}`);

// With a smaller amount.
const less = await engine.fork("loan-1", "limit", { input: 4_000 });
console.log(`with less: ${await less.result()}`);

for (const { location, a, b } of diff(await run.journal(), await better.journal()).changed) {
  console.log(`${location}: ${a.value} or ${b.value}`);
}
await engine.shutdown();
