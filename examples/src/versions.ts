/**
 * Two versions of a workflow side by side. A run that started with the first version ends with it. New runs get the second.
 */
import { createEngine, memoryStore, workflow } from "pawl";

const invoiceV1 = workflow("invoice", async (ctx, customer: string) => {
  const paper = await ctx.step("print", () => `letter to ${customer}`);
  await ctx.listen("paid");
  return `${paper}, paid`;
});

const invoiceV2 = workflow("invoice", { version: 2 }, async (ctx, customer: string) => {
  const mail = await ctx.step("mail", () => `mail to ${customer}`);
  await ctx.listen("paid");
  return `${mail}, paid`;
});

const store = memoryStore();
const yesterday = await createEngine({ store, workflows: [invoiceV1] });
await yesterday.start(invoiceV1, "ann", { id: "invoice-1" });
await yesterday.shutdown();

const today = await createEngine({ store, workflows: [invoiceV1, invoiceV2] });
await today.start(invoiceV2, "bob", { id: "invoice-2" });
for (const id of ["invoice-1", "invoice-2"]) {
  await today.send(id, "paid", null);
  const result = await today.run(id).result();
  console.log(`${id} in version ${(await today.get(id))?.version}: ${result}`);
}
await today.shutdown();
