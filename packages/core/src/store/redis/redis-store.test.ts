import { describe, expect, it } from "vitest";
import { append, create, record, T0 } from "../../testing/store-contract/builders.ts";
import { storeContract } from "../../testing/store-contract/index.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Store } from "../store.ts";
import { redisStore } from "./index.ts";

const URL = process.env.PAWL_TEST_REDIS_URL;
let last = 0;

/** Keys that no other test has. */
function connect(prefix: string): Store {
  return redisStore(URL ?? "", { prefix, clock: "process" });
}

async function freshKeys() {
  last += 1;
  const prefix = `contract:${process.pid}:${last}`;
  return { store: connect(prefix), another: () => connect(prefix) };
}

if (URL === undefined) it.skip("the Redis store (there is no server to try it on)", () => undefined);
else storeContract("redis", freshKeys, { describe, it, expect });

it.skipIf(URL === undefined)(
  "records that do not follow the newest one are a mistake, and leave no trace on Redis",
  async () => {
    const { store } = await freshKeys();
    await store.open(new ManualWorld(T0));
    await store.commit([create("r", { owner: "w" })]);
    const [second, fourth] = [record(2), record(4)];
    await expect(store.commit([append("r", { records: [second] })])).rejects.toThrow("do not follow");
    await expect(store.commit([append("r", { records: [record(1), second, fourth] })])).rejects.toThrow(
      "4 does not follow",
    );
    expect((await store.load("r"))?.records).toEqual([]);
    await store.close();
  },
);
