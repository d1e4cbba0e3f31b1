import { describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { occurrences } from "./plant.ts";

describe("the mutants", () => {
  it("are at least 35, each with a name of its own", () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(35);
    expect(new Set(MUTANTS.map((mutant) => mutant.name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS)("$name: what it replaces is in the built engine once", (mutant) => {
    expect(occurrences(mutant)).toBe(1);
  });
});
