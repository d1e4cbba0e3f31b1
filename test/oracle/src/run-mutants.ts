import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { builtPackage, runMutants } from "pawl-test-shared/mutants";
import type { Machine } from "./drive.ts";
import { MUTANTS } from "./mutants.ts";
import { firstFailure } from "./seeds.ts";

/** Plants each bug in a copy of the built machine and searches for a seed that finds it. */
export function runMachineMutants(seeds: number, only: string): Promise<boolean> {
  return runMutants({
    mutants: MUTANTS.map((mutant) => ({ ...mutant, file: `machine/${mutant.file}` })),
    only,
    built: builtPackage("bpmn"),
    seeds,
    firstFailure: async (dist) => {
      const file = pathToFileURL(join(dist, "machine", "advance.js")).href;
      const { Instance } = (await import(file)) as { readonly Instance: Machine };
      const failure = await firstFailure(Instance, { from: 1, seeds });
      return failure === null ? null : { seed: failure.seed, found: failure.text.split("\n")[0] ?? "" };
    },
  });
}
