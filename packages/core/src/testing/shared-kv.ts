import type { KvDriver } from "../store/kv/kv-driver.ts";
import { KvStore } from "../store/kv/kv-store.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";

/**
 * Stores over one namespace, for several engines of this process. A namespace has one writer, so all of them use the same store. Opening
 * it discards the rows in memory, so that the opener reads those of the driver.
 */
export function sharedKv(driver: KvDriver, runId = "shared"): { connect(): Store } {
  const store = new KvStore(driver, runId);
  return {
    connect: () =>
      intercepted(store, async (call, proceed) => {
        if (call.method === "close") return undefined as never;
        if (call.method === "open") await store.forget();
        return await proceed();
      }),
  };
}
