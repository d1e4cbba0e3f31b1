import * as pawl from "pawl";
import { describe, expect, it } from "vitest";
import type { Pawl } from "./engine-under-test.ts";
import { generateCase } from "./generate-case.ts";
import { shrinkCase, sizeOf } from "./shrink-case.ts";
import { NO_FAULTS, type SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";
import { sweepCase } from "./sweep.ts";

/** An engine whose store inverts `alive` in the answers to heartbeats. */
function lyingEngine(): Pawl {
  const memoryStore = (): pawl.MemoryStore => {
    const store = pawl.memoryStore();
    const heartbeat: pawl.Store["heartbeat"] = async (...args) => {
      const answer = await store.heartbeat(...args);
      return { ...answer, alive: !answer.alive };
    };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === "heartbeat") return heartbeat;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  return { ...pawl, memoryStore };
}

describe("simulate", () => {
  it.each([1, 5, 16, 86])("the simulation of seed %i has no violation", async (seed) => {
    const { violations, runs } = await simulate(pawl, generateCase(seed));
    expect(violations).toEqual([]);
    expect(runs).toBeGreaterThan(0);
  });

  it("the same seed has the same trace, and another seed another trace", async () => {
    const [first, again, other] = [
      await simulate(pawl, generateCase(3)),
      await simulate(pawl, generateCase(3)),
      await simulate(pawl, generateCase(4)),
    ];
    expect(again.hash).toBe(first.hash);
    expect(again.trace).toEqual(first.trace);
    expect(other.hash).not.toBe(first.hash);
  });

  it("the same seed generates the same case", () => {
    expect(generateCase(11)).toEqual(generateCase(11));
    expect(generateCase(11)).not.toEqual(generateCase(12));
  });

  it("a simulation without faults counts its store calls", async () => {
    const { calls, violations } = await simulate(pawl, sweepCase(9001));
    expect(violations).toEqual([]);
    expect(calls).toBeGreaterThan(20);
  });

  it("a failing case is shrunk", async () => {
    const plan: SimCase = { ...generateCase(2), faultRates: NO_FAULTS };
    const engine = lyingEngine();
    const { violations } = await simulate(engine, plan);
    expect(violations[0]?.invariant).toBe("lease");
    const small = await shrinkCase(engine, plan, "lease");
    expect(sizeOf(small)).toBe(0);
    expect(small.workers).toBe(1);
    expect(small.actions).toEqual([]);
  });
});
