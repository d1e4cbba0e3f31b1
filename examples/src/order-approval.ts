/**
 * An order that waits for an approval. The approved order ships. The other order is refunded when its wait times out, here after 100 ms.
 * A waiting run needs only a row in the store.
 */
import { createEngine, memoryStore, workflow } from "pawl";

interface Order {
  readonly id: string;
  readonly cents: number;
  readonly timeout: string;
}

const order = workflow("order", async (ctx, input: Order) => {
  const payment = await ctx.step("charge", () => ({ receipt: `receipt-${input.id}`, cents: input.cents }));
  const approval = await ctx.listen<{ by: string }>("approve", { timeout: input.timeout });
  if (approval.timedOut) {
    await ctx.step("refund", () => console.log(`${input.id}: refunded ${payment.cents} cents`));
    return `${input.id}: nobody approved`;
  }
  await ctx.step("ship", () => console.log(`${input.id}: shipped`));
  return `${input.id}: approved by ${approval.value.by}`;
});

const engine = await createEngine({ store: memoryStore(), workflows: [order] });

const approved = await engine.start(order, { id: "a", cents: 499, timeout: "2 days" }, { id: "order-a" });
await approved.send("approve", { by: "ann" });
console.log(await approved.result());

const forgotten = await engine.start(order, { id: "b", cents: 250, timeout: "100 ms" }, { id: "order-b" });
console.log(await forgotten.result());

await engine.shutdown();
