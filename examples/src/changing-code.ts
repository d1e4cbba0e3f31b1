/** Code changes while a run is open: one step is removed, and runs that are started after the change take another path. */
import { createEngine, memoryStore, workflow } from "pawl";

const first = workflow("order", async (ctx) => {
  await ctx.step("print invoice", () => "paper");
  await ctx.step("reserve", () => "reserved");
  await ctx.listen("paid");
  return "shipped";
});

const second = workflow("order", async (ctx) => {
  ctx.removed("print invoice", "step");
  const reserved = await ctx.step("reserve", () => "reserved again");
  const version = await ctx.getVersion("how to wait", 2);
  await ctx.listen("paid");
  return `${reserved}, ${version === 1 ? "shipped" : "shipped with a tracking number"}`;
});

const store = memoryStore();
const before = await createEngine({ store, workflows: [first] });
await before.start(first, undefined, { id: "o-1" });
while ((await before.run("o-1").status()) !== "suspended") await new Promise((resolve) => setTimeout(resolve, 5));
await before.shutdown();

const after = await createEngine({ store, workflows: [second] });
await after.run("o-1").send("paid", true);
console.log(await after.run("o-1").result());
const fresh = await after.start(second, undefined, { id: "o-2" });
await fresh.send("paid", true);
console.log(await fresh.result());
await after.shutdown();
