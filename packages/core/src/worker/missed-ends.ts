import type { Op, OutcomeOf } from "../model/op.ts";
import { operatorActionOf } from "../model/operator-action.ts";
import { awaitedChildren, childEndEntry } from "../rules/awaited-children.ts";
import type { Loaded, Store } from "../store/store.ts";

export interface MissedEndsParts {
  readonly store: Pick<Store, "reader" | "now">;
  readonly opId: () => string;
  readonly ops: { submit<O extends Op>(op: O): Promise<OutcomeOf<O>> };
}

/**
 * Returns to the inbox of a reopened run the ends of awaited children that ended while the run had ended: an ended run receives nothing.
 * Called before a session is opened. Returns true if the inbox was changed; the run is then claimable and must be loaded again.
 */
export async function restoreMissedEnds({ store, opId, ops }: MissedEndsParts, loaded: Loaded): Promise<boolean> {
  const { run, records, inbox } = loaded;
  if (run.undo === "underWay" || !isReopened(loaded)) return false;
  const known = new Set(inbox.map(({ id }) => id));
  const restore = [];
  for (const awaited of awaitedChildren(records)) {
    const child = await store.reader.get(awaited.child);
    // A fork waits for children of its origin, and never receives their ends.
    const end = child?.parent?.runId === run.id ? childEndEntry(awaited, child) : null;
    if (end !== null && !known.has(end.id)) restore.push(end);
  }
  if (restore.length === 0) return false;
  const seen = { seq: records.at(-1)?.seq ?? run.baseSeq, status: run.status };
  const journal = { seen, cutAfter: null, add: [], restore };
  const { id: runId, epoch, undo } = run;
  await ops.submit({ kind: "rewrite", runId, opId: opId(), epoch, journal, version: null, undo, posts: [] });
  return true;
}

function isReopened({ records, operatorRecords }: Loaded): boolean {
  for (const record of operatorRecords ?? records) {
    const action = operatorActionOf(record);
    if (action === "retry" || action === "rewind") return true;
  }
  return false;
}
