import type { NewRun } from "../model/run.ts";
import type { Loaded } from "../store/store.ts";

/** Of a run that nobody has taken over since it was created. */
export const FIRST_EPOCH = 1;

/** A run that was created a moment ago, by this process: nothing of it needs to be read. */
export function createdRun(run: NewRun): Loaded {
  return {
    run: {
      id: run.id,
      workflow: run.workflow,
      version: run.version,
      input: run.input,
      tags: run.tags,
      parent: run.parent,
      createdAt: run.createdAt,
      startId: run.startId,
      owner: run.owner,
      status: "running",
      epoch: FIRST_EPOCH,
      turn: 0,
      wakeAt: null,
      wait: null,
      inboxLast: 0,
      baseSeq: 0,
      generation: 0,
      claims: 0,
      claimSeq: 0,
      startedAt: run.createdAt,
      endedAt: null,
      undo: "none",
      outcome: null,
    },
    snapshot: null,
    records: [],
    inbox: [],
  };
}
