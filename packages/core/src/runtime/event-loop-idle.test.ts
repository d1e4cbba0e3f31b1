import { expect, it } from "vitest";
import { nodeSettle, settles } from "./event-loop.ts";

const inTick = <Value>(call: () => Value): Promise<Value> =>
  new Promise((resolve) => process.nextTick(() => resolve(call())));

it.skipIf("bun" in process.versions || "deno" in process.versions)(
  "nodeSettle runs all pending continuations (other platforms may not have it)",
  async () => {
    expect(await inTick(() => settles(nodeSettle() ?? (() => undefined)))).toBe(true);
  },
);

it("settles is false for a function that runs nothing", async () => {
  expect(await inTick(() => settles(() => undefined))).toBe(false);
});

it("settles is false inside a promise continuation, where nothing can run", async () => {
  await null;
  expect(settles(nodeSettle() ?? (() => undefined))).toBe(false);
});
