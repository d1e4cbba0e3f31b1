/**
 * `explain` returns why a run waits: for a message, for a retry, for an operator, or for a worker with its version.
 */
import { createEngine, memoryStore, workflow } from "pawl";
import { virtualWorld } from "pawl/testing";

const order = workflow("order", async (ctx) => {
  await ctx.step("charge", () => "paid");
  await ctx.listen("approve", { timeout: "2 days" });
});
const flaky = workflow("flaky", async (ctx) => {
  const call = (): never => {
    throw new Error("no route to host");
  };
  await ctx.step("call", call, { retry: { maxAttempts: 10, initialMs: 600_000, jitter: 0 } });
});
const elsewhere = workflow("order", { version: 7 }, async () => "made elsewhere");

const world = virtualWorld();
const engine = await createEngine({ store: memoryStore(), workflows: [order, flaky], world });
await engine.start(order, undefined, { id: "o-1" });
await engine.start(flaky, undefined, { id: "f-1" });
await engine.start(order, undefined, { id: "o-2" });
await engine.start(elsewhere, undefined, { id: "o-7" });
await world.advance("1 minute");
await engine.pause("o-2", "the customer called");

for (const id of ["o-1", "f-1", "o-2", "o-7"]) console.log((await engine.explain(id)).sentence);
await engine.shutdown();
