import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Machine } from "./drive.ts";
import { MUTANTS } from "./mutants.ts";
import { plant } from "./plant.ts";
import { firstFailure } from "./seeds.ts";

/** Plants each bug, and looks for a seed that finds it. */
export async function runMutants(seeds: number, only: string): Promise<boolean> {
  const asked = MUTANTS.filter(({ name, file }) => name.includes(only) || file.includes(only));
  let caught = 0;
  for (const mutant of asked) {
    const folder = plant(mutant);
    const file = pathToFileURL(join(folder, "machine", "instance.js")).href;
    const { Instance } = (await import(file)) as { readonly Instance: Machine };
    const failure = await firstFailure(Instance, { from: 1, seeds });
    rmSync(folder, { recursive: true, force: true });
    if (failure !== null) caught += 1;
    const found = failure === null ? "NOT FOUND" : `seed ${failure.seed}: ${failure.text.split("\n")[0]}`;
    console.log(`${mutant.name}: ${found}`);
  }
  console.log(`${caught} of ${asked.length} mutants caught within ${seeds} seeds each`);
  return caught === asked.length;
}
