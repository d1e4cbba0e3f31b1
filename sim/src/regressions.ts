/** Seeds that once failed: they are run first, each time. */
export const REGRESSIONS: ReadonlyArray<{ readonly seed: number; readonly what: string }> = [
  { seed: 5, what: "a worker that was taken for dead claimed a run, died, and nobody freed it" },
  { seed: 32, what: "a replay that came to its end made posts again" },
  { seed: 69, what: "a run whose owner had no row was stuck" },
  { seed: 86, what: "a late answer to a claim dropped the session of that claim" },
  { seed: 145, what: "a late answer to a beat dropped a run that was claimed since" },
  { seed: 152, what: "two sessions of one run in one epoch: a record was taken for known and lost" },
];
