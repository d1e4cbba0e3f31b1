/**
 * Limits of runs: a run that waits too long gets a warning, then fails, and its completed steps are rolled back. Ended runs are kept for
 * a time and then removed. Time is virtual, so days pass at once.
 */
import { createEngine, memoryStore, workflow } from "pawl";
import { virtualWorld } from "pawl/testing";

const reservation = workflow("reservation", { maxSuspendDuration: "2 days" }, async (ctx, table: string) => {
  await ctx.step("reserve", () => table, { rollback: (reserved) => console.log(`${reserved} is free again`) });
  await ctx.listen("guests came");
});

const world = virtualWorld();
const engine = await createEngine({
  store: memoryStore(),
  workflows: [reservation],
  retention: { completed: "7 days", failed: "30 days", cancelled: "7 days" },
  poll: "1 hour",
  lease: "1 day",
  log: () => undefined,
  world,
});
engine.on("run.warning", ({ runId, limit, percent }) => console.log(`${runId}: ${percent} % of ${limit}`));

const run = await engine.start(reservation, "table 4", { id: "smith" });
await world.advance("2 days");
await run.result().catch((error: Error) => console.log(error.message));

await world.advance("29 days");
console.log(`after 29 days: ${(await engine.get("smith"))?.status}`);
await world.advance("4 days");
console.log(`after 33 days: ${(await engine.get("smith")) === null ? "removed" : "there"}`);
await engine.shutdown();
