/** The first item of every key. What follows it is said beside each; `run` is the number of a run's row. */
export const KEYS = {
  /** `[meta, "format"]`, `[meta, "numbers"]`. */
  meta: 0,
  /** `[name, number]`: the name registry. */
  name: 1,
  /** `[journal, run, seq]`. */
  journal: 2,
  /** `[inbox, run, n]`: what has not been received. */
  inbox: 3,
  /** `[run, run]`: who owns it, when it is due, what it waits for. */
  run: 4,
  /** `[input, run]`: what it was started with. */
  input: 5,
  /** `[outcome, run]`. */
  outcome: 6,
  /** `[known, run, kind, id]`: what its inbox has had. */
  known: 7,
  /** `[seen, run, topic]`. */
  seen: 8,
  /** `[event, n]`. */
  event: 9,
  /** `[letter, n]`. */
  letter: 10,
  /** `[document, kind, id]`. */
  document: 11,
  /** `[data, key]`: what `ctx.transaction` has kept. */
  data: 12,
} as const;

/** Of the rows; another one is refused. */
export const FORMAT = 1;
