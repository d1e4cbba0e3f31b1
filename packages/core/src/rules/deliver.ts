import type { InboxEntry } from "../model/inbox.ts";
import type { PostAnswer } from "../model/transition.ts";
import type { Batch } from "./batch.ts";
import { draftOf, numbered } from "./run-head.ts";
import type { RunHead } from "./tables.ts";

const QUEUED: PostAnswer = { kind: "queued" };
const DUPLICATE: PostAnswer = { kind: "duplicate" };
const DELIVERED: PostAnswer = { kind: "delivered", runs: 1 };

/**
 * Adds an entry to the inbox of an open run. A run that waits for it becomes ready and is no waiter any more; a run that was already
 * due keeps its position. `again` also adds an entry that the run had and returned when it ended, or received before. The answer is
 * "delivered" only if the entry completes a wait.
 */
export function deliver(batch: Batch, head: RunHead, entry: Omit<InboxEntry, "n">, again = false): PostAnswer {
  const { tables, now } = batch;
  const next = draftOf(head);
  next.inboxLast += 1;
  const added = numbered(next.inboxLast, entry);
  if (!tables.inbox.add(head, added) && !(again && tables.inbox.restore(head, added))) return DUPLICATE;
  if (!isAwaited(batch, head, entry)) {
    tables.runs.saveInbox(next);
    return QUEUED;
  }
  if (head.topics > 0) tables.topics.unsubscribe(head);
  next.topics = 0;
  next.wakeAt = head.wakeAt === null ? now : Math.min(head.wakeAt, now);
  tables.runs.saveReady(next);
  batch.wake(next, added);
  return completesWait(head, now) ? DELIVERED : QUEUED;
}

/**
 * Whether the wait in the row is still open. A run that is due may have left it: something else completed it, and the row has not
 * changed yet. A run that is executed, beside its wait, may leave it at any time.
 */
function completesWait({ status, wakeAt }: RunHead, now: number): boolean {
  return status === "suspended" && (wakeAt === null || wakeAt > now);
}

function isAwaited(batch: Batch, head: RunHead, entry: Omit<InboxEntry, "n">): boolean {
  switch (entry.kind) {
    case "message":
      return batch.tables.runs.wait(head)?.messages.includes(entry.name) ?? false;
    case "child":
      return batch.tables.runs.wait(head)?.children ?? false;
    case "event":
    case "cancel":
      return true;
  }
}
