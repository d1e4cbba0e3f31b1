/** An open run is exported and resumes in another store. Its journal is kept to test later code. */
import { createEngine, endExported, exportRun, importRun, memoryStore, workflow } from "pawl";
import { replayJournal } from "pawl/testing";

const order = workflow("order", async (ctx, item: string) => {
  await ctx.step("charge", () => console.log(`charged for ${item}`));
  const approved = await ctx.listen<string>("approve");
  await ctx.step("ship", () => console.log(`shipped ${item}, says ${approved.value}`));
  return "shipped";
});

const [here, there] = [memoryStore(), memoryStore()];
const first = await createEngine({ store: here, workflows: [order] });
const suspended = new Promise<unknown>((resolve) => first.on("run.suspended", resolve));
await first.start(order, "tea", { id: "o-1" });
await suspended;
await first.pause("o-1", "moves to another store");
const text = JSON.stringify(await exportRun(here, "o-1", { keepOpen: true }));

const second = await createEngine({ store: there, workflows: [order] });
await importRun(there, text, { keepOpen: true });
console.log(
  `moved: ${await endExported(here, text, { keepOpen: true })}, which is ${await first.run("o-1").status()} here`,
);
await first.shutdown();
await second.resume("o-1");
await second.send("o-1", "approve", "ann");
console.log(await second.run("o-1").result());
const golden = await exportRun(there, "o-1", { keepOpen: true });
await second.shutdown();

console.log(`today's code: ${(await replayJournal(order, golden)).end}`);
const renamed = workflow("order", async (ctx, item: string) => {
  await ctx.step("debit", () => console.log(`never printed: ${item}`));
});
await replayJournal(renamed, golden).catch((error: Error) => console.log(error.message));
