import type { HeadDraft, RunHead } from "./tables.ts";

/** A copy to change. It is written out because every transition makes one, and a spread costs ten times as much. */
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
