/** Before a deployment: a dry run replays the open runs of a store on the new code, without effects. */
import { checkReplay, createEngine, memoryStore, workflow } from "pawl";

const deployed = workflow("subscription", async (ctx, name: string) => {
  await ctx.step("welcome", () => console.log(`welcome, ${name}`));
  await ctx.listen("cancelled", { timeout: "365 days" });
  return "over";
});

const store = memoryStore();
const engine = await createEngine({ store, workflows: [deployed] });
const suspended = new Promise<void>((resolve) => {
  let left = 2;
  engine.on("run.suspended", () => {
    left -= 1;
    if (left === 0) resolve();
  });
});
for (const name of ["ann", "bob"]) await engine.start(deployed, name, { id: name });
await suspended;

/** Versions of the code that could be deployed. */
const proposals = {
  "a renamed step": workflow("subscription", async (ctx) => {
    await ctx.step("greet", () => console.log("never printed"));
    await ctx.listen("cancelled", { timeout: "365 days" });
  }),
  "another message": workflow("subscription", async (ctx) => {
    await ctx.step("welcome", () => console.log("never printed"));
    await ctx.listen("ended", { timeout: "365 days" });
  }),
  "a reminder": workflow("subscription", async (ctx) => {
    await ctx.step("welcome", () => console.log("never printed"));
    const answer = await ctx.listen("cancelled", { timeout: "300 days" });
    if (answer.timedOut) await ctx.step("remind", () => "mail");
  }),
};

for (const [name, proposal] of Object.entries(proposals)) {
  const { ok, checked, findings } = await checkReplay({ store, workflows: [proposal], keepOpen: true });
  console.log(`${name}: ${ok ? `fits ${checked} runs` : "does not fit"}`);
  const [first] = findings;
  if (first !== undefined)
    console.log(`  at ${first.location}: ${first.recorded}, the code requests ${first.requested}`);
}
await engine.shutdown();
