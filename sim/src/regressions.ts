/** Seeds, of kernel programs, that find bugs the engine once had, when the guard that came of each is taken away: they are run first, each time. */
export const REGRESSIONS: ReadonlyArray<{ readonly seed: number; readonly what: string }> = [
  { seed: 3, what: "a replay that came to its end started the bodies of steps that nobody waits for" },
  { seed: 17, what: "a worker that was taken for dead claimed a run, died, and nobody freed it" },
  { seed: 60, what: "a deadline that the store refused cost the bodies beside it" },
  { seed: 294, what: "the result of a run that rested here and was cancelled elsewhere was never given" },
  { seed: 305, what: "a late answer to a beat dropped a run that was claimed since" },
  { seed: 535, what: "a replay that came to its end made posts again" },
  { seed: 10_683, what: "a suspect that was lost before it was worked on kept every other suspect out" },
  {
    seed: 2_283,
    what: "a run is migrated between a deadline's record and what its program does then; its row was taken to say what it waits for",
  },
];
