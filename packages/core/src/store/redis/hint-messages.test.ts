import { describe, expect, it, onTestFinished, vi } from "vitest";
import { append, completed, create, message, post, suspended } from "../../testing/store-contract/builders.ts";
import type { Hint } from "../store.ts";
import { redisStore } from "./index.ts";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;
const world = { now: () => Date.now(), every: () => () => undefined };

describe.skipIf(ADDRESS === undefined)("hints of a Redis store", () => {
  it("a hint names the owner of a woken run and the runs that ended, and no run that suspends", async () => {
    const open = async () => {
      const store = redisStore(ADDRESS ?? "", { prefix: `hints:${process.pid}` });
      onTestFinished(() => store.close());
      await store.open(world);
      return store;
    };
    const [mine, theirs] = [await open(), await open()];
    const hints: Hint[] = [];
    theirs.watch((hint) => hints.push(hint));
    await mine.commit([create("r", { owner: "w" }), create("s", { owner: "w" })]);
    await mine.commit([append("r", { state: suspended({ messages: ["go"] }) }), append("s", { state: completed() })]);
    await mine.commit([post(message("r", "m-1", { name: "go" }))]);
    const expected = [
      { runIds: [], owners: [], ended: ["s"] },
      { runIds: ["r"], owners: ["w"], ended: [] },
    ];
    await vi.waitFor(() => expect(hints).toEqual(expected), { timeout: 30_000 });
  });
});
