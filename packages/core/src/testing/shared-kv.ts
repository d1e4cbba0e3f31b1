import type { KvDriver } from "../store/kv/kv-driver.ts";
import { KvStore } from "../store/kv/kv-store.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";

/**
 * Stores over one namespace, for engines of one process that share it. A namespace has one writer, so they are one store; each
 * that opens it finds what the driver has, not what another had in memory.
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
