import { builtPackage, mutatedText, occurrences } from "pawl-test-shared/mutants";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";

const BUILT = builtPackage("core");

describe("the mutants", () => {
  it("are at least 35, each with a name of its own", () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(35);
    expect(new Set(MUTANTS.map((mutant) => mutant.name)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS)("$name: it replaces one place of the built engine, and gives a program", (mutant) => {
    expect(occurrences(mutant, BUILT)).toBe(1);
    // An engine that can't be loaded would be caught for that, whatever the mutant is about.
    expect(parseAst(mutatedText(mutant, BUILT)).type).toBe("Program");
  });
});
