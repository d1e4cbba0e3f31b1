/** Seeds that found bugs of the engine, as it is when the guard that came of each is taken away: they are run first, each time. */
export const REGRESSIONS: ReadonlyArray<{ readonly seed: number; readonly what: string }> = [
  { seed: 6, what: "a replay that came to its end started the bodies of steps that nobody waits for" },
  { seed: 6, what: "a worker that was taken for dead claimed a run, died, and nobody freed it" },
  { seed: 220, what: "a late answer to a claim dropped the session of that claim" },
  { seed: 258, what: "the result of a run that rested here and was cancelled elsewhere was never given" },
  { seed: 278, what: "a replay that came to its end made posts again" },
  { seed: 340, what: "a deadline that the store refused cost the bodies beside it" },
  { seed: 397, what: "a late answer to a beat dropped a run that was claimed since" },
  { seed: 6610, what: "a read that failed left a session that waited for it for ever" },
  { seed: 11367, what: "what was read before a session began made another after its end" },
];
