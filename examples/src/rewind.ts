/**
 * Operator actions: a failed run is retried from its failure, and a run is rewound to an earlier record. The journal contains who did it
 * and why.
 */
import { createEngine, memoryStore, workflow } from "pawl";

const prices = new Map([["tea", 300]]);
let printerHasPaper = false;

const sell = workflow("sell", async (ctx, item: string) => {
  const price = await ctx.step("price", () => {
    console.log(`looked up ${item}`);
    return prices.get(item) ?? 0;
  });
  await ctx.step("charge", () => console.log(`charged ${price}`));
  return await ctx.step(
    "print",
    () => (printerHasPaper ? `receipt over ${price}` : Promise.reject(new Error("no paper"))),
    {
      retry: false,
    },
  );
});

const engine = await createEngine({ store: memoryStore(), workflows: [sell] });
const run = await engine.start(sell, "tea", { id: "sale-1" });
await run.result().catch((error: Error) => console.log(error.message));

// The printer has paper again: only the printing is repeated.
printerHasPaper = true;
await run.retry({ by: "ann", why: "put paper in" });
console.log(await run.result());

// The price was wrong: the step "price" and everything after it is repeated.
prices.set("tea", 350);
const { records } = await run.rewind("price", { by: "ann", why: "the price was last year's" });
console.log(`${records} records dropped`);
console.log(await run.result());

for (const { kind, detail, value } of await run.journal()) {
  if (kind === "operator") console.log(`${detail}: ${(value as { why: string }).why}`);
}
await engine.shutdown();
