import { options } from "./options.ts";
import { runEngineMutants } from "./run-mutants.ts";
import { repeatSeed, runSeeds } from "./run-seeds.ts";
import { runSweep } from "./run-sweep.ts";

const asked = options(process.argv.slice(2));
const good =
  asked.seed !== null
    ? await repeatSeed(asked.seed, asked)
    : asked.mutants
      ? await runEngineMutants(asked)
      : asked.sweep
        ? await runSweep(asked)
        : await runSeeds(asked);
process.exit(good ? 0 : 1);
