/** The first item of each key. The comments show whole keys; `run` is the number of a run's row. */
export const KEYS = {
  /** `[meta, "format"]`, `[meta, "numbers"]`. */
  meta: 0,
  /** `[name, number]`: the name registry. */
  name: 1,
  /** `[journal, run, seq]`. */
  journal: 2,
  /** `[inbox, run, n]`: an entry that the run has not received. */
  inbox: 3,
  /** `[run, run]`: owner, status, due time and waits. */
  run: 4,
  /** `[input, run]`: input, tags, parent and limits. */
  input: 5,
  /** `[outcome, run]`. */
  outcome: 6,
  /** `[known, run, kind, id]`: the ids of entries that the inbox has received, to detect duplicates. */
  known: 7,
  /** `[seen, run, topic]`. */
  seen: 8,
  /** `[event, n]`. */
  event: 9,
  /** `[letter, n]`. */
  letter: 10,
  /** `[document, kind, id]`. */
  document: 11,
  /** `[data, key]`: a value stored by `ctx.transaction`. */
  data: 12,
} as const;

/** The format of the rows. Another format is rejected. */
export const FORMAT = 1;
