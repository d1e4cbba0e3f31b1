import { Instance } from "@pawl/bpmn";
import { describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { occurrences } from "./plant.ts";
import { firstFailure, shrunk } from "./seeds.ts";
import { textOf } from "./text.ts";

const SEEDS = 400;

describe("random processes", () => {
  it(`do on the machine what they mean, and are rebuilt as they are: ${SEEDS} seeds`, async () => {
    const failure = await firstFailure(Instance, { from: 1, seeds: SEEDS });
    if (failure === null) return;
    const { seed, scope, trace, text } = await shrunk(Instance, failure);
    expect.fail(`seed ${seed}\n${textOf(scope)}\n${trace.join("\n")}\n${text}`);
  });
});

describe("the mutants of the machine", () => {
  it.each(MUTANTS)("$name: what it replaces is in what was built once", (mutant) => {
    expect(occurrences(mutant)).toBe(1);
  });
});
