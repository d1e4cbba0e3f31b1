import { type InboxEntry, isPauseRequest } from "../model/inbox.ts";
import { compensateRecord } from "../model/record.ts";
import type { RunState } from "../model/transition.ts";
import { deliverPending, returnEvent } from "./apply-event.ts";
import type { Batch } from "./batch.ts";
import { workingStatus } from "./run-head.ts";
import type { HeadDraft, RunHead } from "./tables.ts";
import { broadcastMessage, buryMessage } from "./undelivered.ts";

type WaitState = Extract<RunState, { status: "running" | "suspended" }>;
type ReleasedState = Extract<RunState, { status: "released" | "resumed" | "reopened" }>;
type EndState = Extract<RunState, { status: "completed" | "failed" | "cancelled" }>;

/** Writes the run's new state. `next` already has the new epoch, turn and owner. */
export function applyState(batch: Batch, next: HeadDraft, state: RunState): void {
  switch (state.status) {
    case "running":
    case "suspended":
      suspend(batch, next, state);
      break;
    case "released":
    case "resumed":
    case "reopened":
      release(batch, next, state);
      break;
    case "paused":
      leaveTopics(batch, next);
      next.status = "paused";
      next.owner = null;
      next.wakeAt = null;
      batch.tables.runs.saveOutcome(next, state.reason);
      break;
    case "compensating":
      stop(batch, next, state);
      break;
    case "continued":
      restart(batch, next, state);
      break;
    case "restarted":
      startAgain(batch, next, state);
      break;
    case "completed":
    case "failed":
    case "cancelled":
      end(batch, next, state);
      break;
  }
}

/**
 * Checks and waits in one commit. If an entry arrived since the decision, the run is ready at once. Otherwise a pending event of one
 * of its topics makes it ready, or the run becomes a waiter.
 */
function suspend(batch: Batch, next: HeadDraft, state: WaitState): void {
  const { tables, now } = batch;
  const topics = state.wait?.topics ?? [];
  if (next.inboxLast <= state.inboxSeen && topics.length > 0) next.inboxLast = deliverPending(batch, next, topics);
  next.status = next.undo === "underWay" ? "compensating" : state.status;
  if (state.status === "suspended") next.claims = 0;
  if (next.inboxLast > state.inboxSeen) {
    leaveTopics(batch, next);
    next.wakeAt = now;
    batch.wake(next);
  } else {
    keepTopics(batch, next, topics);
    next.wakeAt = state.wait?.until ?? null;
  }
  // A run that was freed, and is executed still, must stay claimable.
  const isExecuted = next.status === "running" || (next.status === "compensating" && state.wait === null);
  if (next.owner === null && isExecuted) next.wakeAt = now;
  tables.runs.saveWait(next, state.wait);
}

/** Makes the run claimable by any worker. */
function release(batch: Batch, next: HeadDraft, state: ReleasedState): void {
  const { runs } = batch.tables;
  leaveTopics(batch, next);
  if (state.status !== "released") withdrawPauses(batch, next);
  if (state.status === "reopened") {
    next.endedAt = null;
    next.undo = state.undo;
    next.version = state.version ?? next.version;
  }
  next.status = workingStatus(next);
  next.owner = null;
  next.claims = state.status === "released" ? claimsAfterRelease(batch, next) : 0;
  next.wakeAt = state.at;
  if (state.status === "released") runs.saveWait(next, null);
  else runs.saveOutcome(next, null);
  if (state.status === "reopened") runs.saveVersion(next);
  batch.wakeClaimable(next);
}

/** A worker that gives a run back did not crash, so its claim does not count. Earlier ones do, unless the run has made progress since. */
function claimsAfterRelease({ tables }: Batch, head: HeadDraft): number {
  return tables.journal.newestSeq(head) > head.claimSeq ? 0 : Math.max(0, head.claims - 1);
}

/** A resume withdraws the requests to pause that the run has not received. */
function withdrawPauses({ tables }: Batch, next: HeadDraft): void {
  if (next.inboxLast === 0) return;
  for (const entry of tables.inbox.open(next)) if (isPauseRequest(entry)) tables.inbox.take(next, entry.n);
}

/** Appends the record after which the program receives nothing. The worker that claims the run compensates the records before it. */
function stop(batch: Batch, next: HeadDraft, state: Extract<RunState, { status: "compensating" }>): void {
  const { tables } = batch;
  leaveTopics(batch, next);
  const { reason, at, end: finalStatus = "cancelled", claims = 0 } = state;
  const seq = tables.journal.newestSeq(next) + 1;
  tables.journal.append(next, [compensateRecord(seq, { end: finalStatus, reason }, at)]);
  next.undo = "underWay";
  next.status = "compensating";
  next.owner = null;
  next.claims = claims;
  next.wakeAt = state.at;
  // The record is no progress of the run: the claims stay counted.
  next.claimSeq = seq;
  tables.runs.saveOutcome(next, null);
  tables.runs.saveOwner(next);
  batch.wakeClaimable(next);
}

/** Starts the next generation of the run. A run without an owner becomes claimable; otherwise no worker would resume it. */
function restart(batch: Batch, next: HeadDraft, state: Extract<RunState, { status: "continued" }>): void {
  const { tables } = batch;
  leaveTopics(batch, next);
  tables.journal.cut(next, state.baseSeq);
  tables.documents.remove("snapshot", next.id);
  next.undo = "none";
  next.workflow = state.workflow;
  next.version = state.version;
  next.status = "running";
  next.wakeAt = next.owner === null ? state.at : null;
  next.baseSeq = state.baseSeq;
  next.generation += 1;
  next.claims = 0;
  next.startedAt = state.at;
  tables.runs.saveProgram(next, state);
  batch.wakeClaimable(next);
}

/** Starts an ended run again. The epoch, the generation and the seqs continue, so nothing of the ended generation fits the new one. */
function startAgain(batch: Batch, next: HeadDraft, { run, baseSeq }: Extract<RunState, { status: "restarted" }>): void {
  const { tables } = batch;
  tables.journal.cut(next, baseSeq);
  tables.documents.remove("snapshot", next.id);
  next.undo = "none";
  next.workflow = run.workflow;
  next.version = run.version;
  next.startId = run.startId;
  next.createdAt = run.createdAt;
  next.status = "pending";
  next.wakeAt = run.startAt;
  next.baseSeq = baseSeq;
  next.generation += 1;
  next.claims = 0;
  next.startedAt = null;
  next.endedAt = null;
  tables.runs.saveOutcome(next, null);
  tables.runs.saveStart(next, run);
  batch.wakeClaimable(next);
}

function end(batch: Batch, next: HeadDraft, state: EndState): void {
  const { tables } = batch;
  leaveTopics(batch, next);
  next.status = state.status;
  next.endedAt = state.at;
  next.owner = null;
  next.wakeAt = null;
  tables.runs.saveOutcome(next, state.outcome);
  if (next.inboxLast === 0) return;
  const leftovers = tables.inbox.open(next);
  if (leftovers.length === 0) return;
  tables.inbox.takeAll(next);
  for (const entry of leftovers) settleLeftover(batch, next, entry);
}

function leaveTopics(batch: Batch, next: HeadDraft): void {
  if (next.topics === 0) return;
  batch.tables.topics.unsubscribe(next);
  next.topics = 0;
}

function keepTopics(batch: Batch, next: HeadDraft, topics: readonly string[]): void {
  if (topics.length === 0) {
    leaveTopics(batch, next);
    return;
  }
  const distinct = topics.length > 1 ? [...new Set(topics)] : topics;
  batch.tables.topics.subscribe(next, distinct);
  next.topics = distinct.length;
}

/** Settles an inbox entry that the run had not received when it ended. */
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
