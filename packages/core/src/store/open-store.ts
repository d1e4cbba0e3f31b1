import { PawlError } from "../model/errors.ts";
import { textOf } from "../model/payload-values.ts";
import type { Store, StoreWorld } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** Opens a store for a caller. An error of its driver, such as a path that cannot be opened, gets a code. */
export async function openStore(store: Store, world: StoreWorld): Promise<void> {
  try {
    await store.open(world);
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    const why = cause instanceof StoreError ? cause.message : textOf(cause);
    const text = `could not open the store: ${why}; check its address, and that this process may use it`;
    throw new PawlError("STORE_UNAVAILABLE", text, { cause });
  }
}

/** Calls a store for a caller, without retries. */
export async function callStore<Value>(call: () => Promise<Value>): Promise<Value> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    const why = `the store did not answer: ${cause.message}; repeat the call when it is back`;
    throw new PawlError("STORE_UNAVAILABLE", why, { cause });
  }
}
