/** `explore` executes a workflow under every crash and failure. It finds a workflow that charges twice; the fixed workflow passes. */
import { workflow } from "pawl";
import { type ExploreError, effectLog, explore } from "pawl/testing";

const effects = effectLog();

const hasty = workflow("order", async (ctx, cents: number) => {
  await ctx.step("charge", () => effects.happened(`charge of ${cents}`));
  return "charged";
});

const fixed = workflow("order", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge of ${cents}`, { key: idempotencyKey }));
  return "charged";
});

const schedules = 100;
await explore(hasty, 499, { effects, schedules }).catch((error: ExploreError) => {
  const [finding] = error.report.findings;
  console.log(`${finding?.kind}: ${finding?.message}`);
  for (const line of finding?.story ?? []) console.log(line);
});
const { findings } = await explore(fixed, 499, { effects, schedules });
console.log(`mended: ${findings.length} findings`);
