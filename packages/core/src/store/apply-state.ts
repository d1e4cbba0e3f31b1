import type { InboxEntry } from "../model/inbox.ts";
import type { RunState } from "../model/transition.ts";
import { deliverPending, returnEvent } from "./apply-event.ts";
import { broadcastMessage, buryMessage } from "./apply-post.ts";
import type { Batch } from "./batch.ts";
import type { RunHead } from "./tables.ts";

type RestState = Extract<RunState, { status: "running" | "suspended" }>;
type EndState = Extract<RunState, { status: "completed" | "failed" | "cancelled" }>;

/** Gives the run its state; `head` has the epoch, the turn and the owner that it is to have. */
export function applyState(batch: Batch, head: RunHead, state: RunState): void {
  switch (state.status) {
    case "running":
    case "suspended":
      rest(batch, head, state);
      break;
    case "released":
    case "resumed":
      free(batch, head, state);
      break;
    case "paused":
      if (head.topics > 0) batch.tables.topics.unsubscribe(head);
      batch.tables.runs.saveOutcome({ ...head, status: "paused", owner: null, wakeAt: null, topics: 0 }, state.reason);
      break;
    case "continued":
      restart(batch, head, state);
      break;
    case "completed":
    case "failed":
    case "cancelled":
      end(batch, head, state);
      break;
  }
}

/**
 * Looking and waiting are one: what has arrived since the decision makes the run ready at once, else an event that is
 * pending on one of its topics does, else the run is a waiter from here on.
 */
function rest(batch: Batch, head: RunHead, state: RestState): void {
  const { tables, now } = batch;
  const next = { ...head, status: state.status, claims: state.status === "suspended" ? 0 : head.claims };
  const topics = state.wait?.topics ?? [];
  const inboxLast = head.inboxLast > state.inboxSeen ? head.inboxLast : deliverPending(batch, head, topics);
  if (inboxLast > state.inboxSeen) {
    if (head.topics > 0) tables.topics.unsubscribe(head);
    const ready = { ...next, inboxLast, wakeAt: now, topics: 0 };
    tables.runs.saveWait(ready, state.wait);
    batch.wake(ready);
    return;
  }
  const distinct = topics.length > 1 ? [...new Set(topics)] : topics;
  if (distinct.length > 0) tables.topics.subscribe(head, distinct);
  else if (head.topics > 0) tables.topics.unsubscribe(head);
  tables.runs.saveWait({ ...next, wakeAt: state.wait?.until ?? null, topics: distinct.length }, state.wait);
}

/** Any worker may claim it from then on. */
function free(batch: Batch, head: RunHead, state: Extract<RunState, { status: "released" | "resumed" }>): void {
  const { tables } = batch;
  if (head.topics > 0) tables.topics.unsubscribe(head);
  const next: RunHead = { ...head, status: "running", owner: null, claims: 0, wakeAt: state.at, topics: 0 };
  if (state.status === "resumed") tables.runs.saveOutcome(next, null);
  else tables.runs.saveWait(next, null);
  batch.wakeClaimable(next);
}

/** The same run as a fresh generation. One that nobody owns is claimable, or it would never go on. */
function restart(batch: Batch, head: RunHead, state: Extract<RunState, { status: "continued" }>): void {
  const { tables } = batch;
  if (head.topics > 0) tables.topics.unsubscribe(head);
  tables.journal.cut(head, state.baseSeq);
  tables.documents.remove("snapshot", head.id);
  const next: RunHead = {
    ...head,
    workflow: state.workflow,
    status: "running",
    wakeAt: head.owner === null ? state.at : null,
    baseSeq: state.baseSeq,
    generation: head.generation + 1,
    claims: 0,
    startedAt: state.at,
    topics: 0,
  };
  tables.runs.saveProgram(next, state);
  batch.wakeClaimable(next);
}

function end(batch: Batch, head: RunHead, state: EndState): void {
  const { tables } = batch;
  if (head.topics > 0) tables.topics.unsubscribe(head);
  const next: RunHead = { ...head, status: state.status, endedAt: state.at, owner: null, wakeAt: null, topics: 0 };
  tables.runs.saveOutcome(next, state.outcome);
  if (head.inboxLast === 0) return;
  const leftovers = tables.inbox.open(head);
  tables.inbox.takeAll(head);
  tables.topics.forgetSeen(head);
  for (const entry of leftovers) settleLeftover(batch, next, entry);
}

/** What the run has not received when it ends. */
function settleLeftover(batch: Batch, head: RunHead, entry: InboxEntry): void {
  switch (entry.kind) {
    case "message":
      if (entry.onTargetTerminated === "broadcast") broadcastMessage(batch, head.id, entry);
      else if (entry.onTargetTerminated === "deadLetter") {
        buryMessage(batch, { ...entry, to: head.id }, { reason: "targetTerminated", status: head.status });
      }
      return;
    case "event":
      returnEvent(batch, head, entry);
      return;
    case "child":
    case "cancel":
      return;
  }
}
