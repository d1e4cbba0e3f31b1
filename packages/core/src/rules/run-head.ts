import type { InboxEntry } from "../model/inbox.ts";
import type { Run, Status } from "../model/run.ts";
import type { HeadDraft, RunHead, Tables } from "./tables.ts";

/** Copies a head for changes. Written out because every transition makes a copy, and a spread costs ten times as much. */
export function draftOf(head: RunHead): HeadDraft {
  return {
    key: head.key,
    id: head.id,
    workflow: head.workflow,
    version: head.version,
    startId: head.startId,
    createdAt: head.createdAt,
    status: head.status,
    epoch: head.epoch,
    turn: head.turn,
    owner: head.owner,
    wakeAt: head.wakeAt,
    inboxLast: head.inboxLast,
    baseSeq: head.baseSeq,
    generation: head.generation,
    claims: head.claims,
    claimSeq: head.claimSeq,
    startedAt: head.startedAt,
    endedAt: head.endedAt,
    undo: head.undo,
    controlId: head.controlId,
    topics: head.topics,
  };
}

/** The status of a run that is executed, or can be claimed. */
export function workingStatus({ undo }: Pick<RunHead, "undo">): Extract<Status, "running" | "compensating"> {
  return undo === "underWay" ? "compensating" : "running";
}

/** Whether the owner is executing the run. A compensating run does one thing at a time, so it is suspended while its row has a wait. */
export function isWorking({ runs }: Pick<Tables, "runs">, head: RunHead): boolean {
  return head.status === "running" || (head.status === "compensating" && runs.wait(head) === null);
}

/** Builds the run that readers get, from the head without the store's own fields and the rest of the row. */
export function runOf(head: RunHead, rest: Omit<Run, keyof RunHead>): Run {
  const run: Run = {
    id: head.id,
    workflow: head.workflow,
    version: head.version,
    input: rest.input,
    tags: rest.tags,
    parent: rest.parent,
    createdAt: head.createdAt,
    startId: head.startId,
    owner: head.owner,
    status: head.status,
    epoch: head.epoch,
    turn: head.turn,
    wakeAt: head.wakeAt,
    wait: rest.wait,
    inboxLast: head.inboxLast,
    baseSeq: head.baseSeq,
    generation: head.generation,
    claims: head.claims,
    claimSeq: head.claimSeq,
    startedAt: head.startedAt,
    endedAt: head.endedAt,
    undo: head.undo,
    outcome: rest.outcome,
  };
  return rest.limits === undefined ? run : { ...run, limits: rest.limits };
}

/** Adds its number to an inbox entry. */
export function numbered(n: number, entry: Omit<InboxEntry, "n">): InboxEntry {
  const { kind, id, name, value, status, at, onTargetTerminated } = entry;
  return { n, kind, id, name, value, status, at, onTargetTerminated };
}
