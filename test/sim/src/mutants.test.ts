import { builtPackage, mutatedText, occurrences } from "pawl-test-shared/mutants";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";

const BUILT = builtPackage("core");

describe("MUTANTS", () => {
  it("there are at least 35 mutants with different names", () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(35);
    expect(new Set(MUTANTS.map((mutant) => mutant.name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS)(`the mutant "$name" replaces one place of the built engine, and the result parses`, (mutant) => {
    expect(occurrences(mutant, BUILT)).toBe(1);
    // An engine that cannot be loaded would be caught for the wrong reason.
    expect(parseAst(mutatedText(mutant, BUILT)).type).toBe("Program");
  });
});
