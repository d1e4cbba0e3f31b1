import type { Run } from "../model/run.ts";
import type { RunHead } from "./tables.ts";

/** A run as its readers see it: the head, without what is the store's own, and the rest of the row. */
export function runOf(head: RunHead, rest: Omit<Run, keyof RunHead>): Run {
  return {
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
}
