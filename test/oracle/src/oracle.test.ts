import { join } from "node:path";
import { Instance } from "@pawl/bpmn";
import { builtPackage, occurrences } from "pawl-test-shared/mutants";
import { describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { firstFailure } from "./seeds.ts";
import { shrinkFailure } from "./shrink-process.ts";
import { textOf } from "./text.ts";

const SEEDS = 400;
const BUILT = join(builtPackage("bpmn"), "machine");

describe("random processes", () => {
  it(`machine, oracle and rebuilt state agree for ${SEEDS} seeds`, async () => {
    const failure = await firstFailure(Instance, { from: 1, seeds: SEEDS });
    if (failure === null) return;
    const { seed, scope, trace, text } = await shrinkFailure(Instance, failure);
    expect.fail(`seed ${seed}\n${textOf(scope)}\n${trace.join("\n")}\n${text}`);
  });
});

describe("mutants of the machine", () => {
  it.each(MUTANTS)(`the text that the mutant "$name" replaces occurs once in the built machine`, (mutant) => {
    expect(occurrences(mutant, BUILT)).toBe(1);
  });
});
