import type { Kinds } from "./generate-leaves.ts";
import type { Job } from "./job.ts";

interface Regression {
  readonly seed: number;
  /** Of which programs; left out: of the kernel's. */
  readonly kinds?: Kinds;
  readonly what: string;
}

/** Seeds that find bugs the engine once had, when the guard that came of each is taken away: they are run first, each time. */
export const REGRESSIONS: readonly Regression[] = [
  { seed: 3, what: "a replay that came to its end started the bodies of steps that nobody waits for" },
  { seed: 17, what: "a worker that was taken for dead claimed a run, died, and nobody freed it" },
  { seed: 60, what: "a deadline that the store refused cost the bodies beside it" },
  { seed: 294, what: "the result of a run that rested here and was cancelled elsewhere was never given" },
  { seed: 305, what: "a late answer to a beat dropped a run that was claimed since" },
  { seed: 535, what: "a replay that came to its end made posts again" },
  { seed: 10_683, what: "a suspect that was lost before it was worked on kept every other suspect out" },
  {
    seed: 2_283,
    kinds: "all",
    what: "a run is migrated between a deadline's record and what its program does then; its row was taken to say what it waits for",
  },
  {
    seed: 1_164,
    kinds: "all",
    what: "a cancel that came while something was done ended the run, and did not undo it",
  },
  { seed: 1_612, kinds: "all", what: "a replay handed on the next record before the program had come to rest" },
  {
    seed: 13_650,
    kinds: "all",
    what: "a late answer to a start was taken for the answer to a later start of the same run, which was lost in between",
  },
];

export function* regressionJobs(dist: string | null): Generator<Job> {
  for (const { seed, kinds = "kernel" } of REGRESSIONS)
    yield { kind: "seeds", dist, kinds, from: seed, count: 1, stopAtFirst: true };
}
