import type { JournalRecord } from "./model/record.ts";
import type { Loaded } from "./store/store.ts";

/** A run with all of its records, for who changes or copies a history. */
export interface WholeRun extends Omit<Loaded, "acts"> {
  readonly records: readonly JournalRecord[];
}

export function wholeRun({ run, snapshot, records, inbox }: Loaded): WholeRun {
  return { run, snapshot, records: [...records], inbox };
}
