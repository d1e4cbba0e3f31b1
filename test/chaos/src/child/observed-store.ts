import type { Store } from "pawl";
import type { Entry } from "../entry.ts";

/** A store that also reports the epoch of each loaded run, and each heartbeat. The engine does not report these. */
export interface ObservedStore {
  readonly store: Store;
  epochOf(runId: string): number;
}

export function observedStore(store: Store, note: (entry: Entry) => void, now: () => number): ObservedStore {
  const epochs = new Map<string, number>();
  const observed: Pick<Store, "commit" | "load" | "heartbeat"> = {
    async commit(batch) {
      // A run that this worker created is not loaded; its first epoch is 1.
      for (const each of batch) if (each.kind === "create" && each.run.owner !== null) epochs.set(each.run.id, 1);
      return await store.commit(batch);
    },
    async load(runId, afterSeq, afterEntry) {
      const loaded = await store.load(runId, afterSeq, afterEntry);
      if (loaded !== null) epochs.set(runId, loaded.run.epoch);
      return loaded;
    },
    async heartbeat(worker, leaseMs, workflows) {
      const sentAt = now();
      const answer = await store.heartbeat(worker, leaseMs, workflows);
      note({ kind: "heartbeat", sentAt, at: now(), alive: answer.alive });
      return answer;
    },
  };
  return {
    store: new Proxy(store, {
      get(target, name) {
        const own: unknown = Reflect.get(observed, name);
        if (own !== undefined) return own;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
    epochOf: (runId) => epochs.get(runId) ?? 0,
  };
}
