import type { AppendOp, RunView } from "../model/op.ts";
import type { RecordKind } from "../model/record.ts";

/** Records that tell of no work. */
const RECEIPTS: ReadonlySet<RecordKind> = new Set(["listen", "event", "select", "sleep"]);

/** Whether others may be committed before it: the run ends, nobody is told of it, and a crash would have nothing done twice. */
export function canWait({ state, records, posts, documents }: AppendOp, view: RunView | null): boolean {
  if (view === null || view.parent !== null || posts.length > 0 || documents.length > 0) return false;
  if (state?.status !== "completed" && state?.status !== "failed") return false;
  return records.every(({ kind }) => RECEIPTS.has(kind));
}
