import { describe, expect, it, onTestFinished } from "vitest";
import { functionNames, methodNames } from "./api.ts";
import { fuzz, GROUPS } from "./fuzz.ts";
import { fuzzData, STORE_NAMES, type StoreName } from "./fuzz-stores.ts";
import { openWorld } from "./fuzzed-world.ts";

const { PAWL_FUZZ_CALLS, PAWL_FUZZ_STORE, PAWL_TEST_STAGE, SEED } = process.env;
const CALLS = Number(PAWL_FUZZ_CALLS ?? 5_000);
const FIRST_SEED = Number(SEED ?? 20_261_201);

/** PostgreSQL is tested in a section of its own. */
const STORES: readonly StoreName[] =
  PAWL_FUZZ_STORE !== undefined
    ? [PAWL_FUZZ_STORE as StoreName]
    : STORE_NAMES.filter((name) => (name === "postgres") === (PAWL_TEST_STAGE === "postgres"));

describe("the fuzz of the public API", () => {
  it("has an entry for every public method, and no other", async () => {
    const data = await fuzzData("memory");
    if (data === null) throw new Error("the memory store needs no server");
    const { connect } = await data();
    const world = await openWorld(connect, () => undefined);
    onTestFinished(() => world.close());
    for (const { name, target, exports, methods, inWorkflow } of GROUPS) {
      const ctx = inWorkflow === true ? await world.ctx() : null;
      const object = ctx ?? world.refs[target]?.();
      const names = exports === undefined ? methodNames(object as object) : functionNames(exports);
      expect.soft(Object.keys(methods).sort(), name).toEqual(names);
    }
  });

  it.each(STORES)(
    "on the store %s, bad arguments get an error with a code, and the engine continues",
    async (store) => {
      const data = await fuzzData(store);
      if (data === null && process.env.CI !== "true") return;
      if (data === null) throw new Error(`no server for ${store}`);
      const counts = await fuzz({ calls: CALLS, seed: FIRST_SEED, connect: data });
      const made = Object.values(counts).reduce((sum, count) => sum + count, 0);
      console.log(`${store}: ${made} outcomes from seed ${FIRST_SEED} on, ${JSON.stringify(counts)}`);
      expect(made).toBeGreaterThanOrEqual(CALLS * 0.9);
      expect(counts.value ?? 0).toBeGreaterThan(CALLS / 20);
    },
    3_600_000,
  );
});
