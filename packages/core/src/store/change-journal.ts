import type { InboxEntry } from "../model/inbox.ts";
import type { Answer, JournalChange } from "../model/transition.ts";
import type { Batch } from "./batch.ts";
import { numbered } from "./numbered.ts";
import type { HeadDraft, RunHead } from "./tables.ts";

/** Why a change of the journal no longer fits the run; null: it does. */
export function hasMoved({ tables }: Batch, head: RunHead, { seen }: JournalChange): Answer | null {
  if (seen === null) return null;
  const seq = tables.journal.newestSeq(head);
  if (seq === seen.seq && head.status === seen.status) return null;
  return { kind: "refused", reason: "moved", seq, status: head.status };
}

/** Cuts the journal, adds to it, and lays back what was received in the part that is gone. */
export function changeJournal(batch: Batch, next: HeadDraft, { cutAfter, add, restore }: JournalChange): void {
  const { tables } = batch;
  if (cutAfter !== null) {
    tables.journal.cutAfter(next, cutAfter);
    // It may hold what the run was after the cut; without it the run is rebuilt from its records.
    tables.documents.remove("snapshot", next.id);
  }
  if (add.length > 0) {
    const first = tables.journal.newestSeq(next) + 1;
    tables.journal.append(
      next,
      add.map((record, index) => ({ ...record, seq: first + index })),
    );
  }
  if (restore.length > 0) layBack(batch, next, restore);
}

/** What comes back was there before what lies there: so that goes behind it. */
function layBack({ tables }: Batch, next: HeadDraft, restore: JournalChange["restore"]): void {
  const before = next.inboxLast;
  const waiting = tables.inbox.open(next);
  const lay = (entry: Omit<InboxEntry, "n">): void => {
    if (tables.inbox.restore(next, numbered(next.inboxLast + 1, entry))) next.inboxLast += 1;
  };
  for (const entry of restore) lay(entry);
  if (next.inboxLast === before) return;
  for (const entry of waiting) {
    tables.inbox.take(next, entry.n);
    lay(entry);
  }
}
