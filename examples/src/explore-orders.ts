/** A workflow is run with everything going wrong: one that charges twice is found, and told of; the mended one passes. */
import { workflow } from "pawl";
import { type ExploreError, effectLog, explore } from "pawl/testing";

const effects = effectLog();

const hasty = workflow("order", async (ctx, cents: number) => {
  await ctx.step("charge", () => effects.happened(`charge of ${cents}`));
  return "charged";
});

const mended = workflow("order", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge of ${cents}`, { key: idempotencyKey }));
  return "charged";
});

const schedules = 100;
await explore(hasty, 499, { effects, schedules }).catch((error: ExploreError) => {
  const [finding] = error.report.findings;
  console.log(`${finding?.kind}: ${finding?.message}`);
  for (const line of finding?.story ?? []) console.log(line);
});
const { findings } = await explore(mended, 499, { effects, schedules });
console.log(`mended: ${findings.length} findings`);
