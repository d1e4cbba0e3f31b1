import { expect, it } from "vitest";
import { nodeSettle, settles } from "./event-loop.ts";

const inTick = <Value>(call: () => Value): Promise<Value> =>
  new Promise((resolve) => process.nextTick(() => resolve(call())));

it.skipIf("bun" in process.versions || "deno" in process.versions)(
  "what Node has brings to rest what is under way (elsewhere there need not be any)",
  async () => {
    expect(await inTick(() => settles(nodeSettle() ?? (() => undefined)))).toBe(true);
  },
);

it("is not taken for settled what is under way still", async () => {
  expect(await inTick(() => settles(() => undefined))).toBe(false);
});

it("is not taken for settled what is called amid promise continuations, where nothing can run", async () => {
  await null;
  expect(settles(nodeSettle() ?? (() => undefined))).toBe(false);
});
