import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";

export interface HeartbeatGate {
  /** The store of the worker whose heartbeats are delayed. */
  through(store: Store): Store;
  close(): void;
  open(): void;
}

/** Delays the heartbeats of one worker while the gate is closed: other workers consider it dead, and it continues to work. */
export function heartbeatGate(): HeartbeatGate {
  let isOpen = true;
  const waiting: Array<() => void> = [];
  return {
    through: (store) =>
      intercepted(store, async ({ method }, proceed) => {
        if (method === "heartbeat" && !isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
        return await proceed();
      }),
    close() {
      isOpen = false;
    },
    open() {
      isOpen = true;
      for (const proceed of waiting.splice(0)) proceed();
    },
  };
}
