import * as pawl from "pawl";
import { describe, expect, it } from "vitest";
import type { Pawl } from "./engine-under-test.ts";
import { transactionKinds } from "./fault-matrix.ts";
import { simulate } from "./simulate.ts";
import { SWEEP_SEEDS, sweepCase } from "./sweep.ts";

/** An engine whose store collects the kinds of its transactions. */
function notingEngine(seen: Set<string>): Pawl {
  const memoryStore = (): pawl.MemoryStore => {
    const store = pawl.memoryStore();
    const commit: pawl.Store["commit"] = (batch) => {
      for (const kind of transactionKinds(batch)) seen.add(kind);
      return store.commit(batch);
    };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === "commit") return commit;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  return { ...pawl, memoryStore };
}

describe("programs of the sweep", () => {
  it("programs of the sweep contain compensation, loop trims, transactions and rewinds", {
    timeout: 120_000,
  }, async () => {
    const seen = new Set<string>();
    const engine = notingEngine(seen);
    for (const seed of SWEEP_SEEDS) {
      const { violations } = await simulate(engine, sweepCase(seed));
      expect(violations, `seed ${seed}`).toEqual([]);
    }
    for (const kind of [
      "append-rollback",
      "append-trim",
      "append-transaction",
      "control-compensating",
      "control-reopened",
    ]) {
      expect([...seen]).toContain(kind);
    }
  });
});
