import { describe, expect, it } from "vitest";
import { storeContract } from "../../testing/store-contract/index.ts";
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
