import { readOptions } from "./options.ts";
import { runEngineMutants } from "./run-mutants.ts";
import { repeatSeed, runSeeds } from "./run-seeds.ts";
import { runSweep } from "./run-sweep.ts";

const options = readOptions(process.argv.slice(2));
const good =
  options.seed !== null
    ? await repeatSeed(options.seed, options)
    : options.mutants
      ? await runEngineMutants(options)
      : options.sweep
        ? await runSweep(options)
        : await runSeeds(options);
process.exit(good ? 0 : 1);
