import type { InboxEntry } from "../model/inbox.ts";
import type { Post } from "../model/transition.ts";
import { applyState } from "./apply-state.ts";
import type { Batch } from "./batch.ts";
import { deliver } from "./deliver.ts";
import { draftOf } from "./run-head.ts";
import type { RunHead } from "./tables.ts";

type CloseChildren = Extract<Post, { kind: "closeChildren" }>;

/**
 * Requests a cancel of the open children of a run. If the run has ended, a child that has not started ends at once: it has nothing to
 * roll back, and perhaps no worker has its workflow.
 */
export function closeChildren(batch: Batch, post: CloseChildren, cancel: Omit<InboxEntry, "n">): void {
  for (const child of batch.tables.runs.openChildren(post.of)) {
    if (post.isEnd && isUnstarted(child)) cancelUnstarted(batch, child, post);
    else {
      // A child that was reopened with its parent is closed again.
      deliver(batch, child, cancel, child.status !== "compensating");
    }
  }
}

/** A run that was created with a history is pending too. */
function isUnstarted({ status, startedAt, undo }: RunHead): boolean {
  return status === "pending" && startedAt === null && undo === "none";
}

function cancelUnstarted(batch: Batch, child: RunHead, { reason, at }: CloseChildren): void {
  const next = draftOf(child);
  next.epoch += 1;
  next.turn = 0;
  applyState(batch, next, { status: "cancelled", outcome: reason, at });
}
