import { isTerminal, STATUSES } from "../model/run.ts";
import { endPending } from "./apply-event.ts";
import type { Batch } from "./batch.ts";
import type { Pruned, PruneRequest, RunHead, Tables } from "./tables.ts";

/** Deletes expired rows: at most `limit` runs, ids, events and letters each. */
export function pruneRows(batch: Batch, request: PruneRequest): Pruned {
  const { tables, now } = batch;
  const { limit, receivedBefore, lettersBefore = null } = request;
  const runs = pruneRuns(tables, request);
  if (request.runId !== undefined) return prunedRuns(runs);
  const expired = tables.events.expired(now, limit);
  for (const event of expired) endPending(batch, event, "expired");
  const entries = receivedBefore === null ? 0 : deleteReceived(tables, receivedBefore, limit);
  const letters = lettersBefore === null ? 0 : tables.letters.removeBefore(lettersBefore, limit);
  const done = Math.max(runs, expired.length, entries, letters) < limit;
  return { runs, entries, expired: expired.length, letters, done };
}

/** The result for a request that deletes only runs. */
export function prunedRuns(runs: number): Pruned {
  return { runs, entries: 0, expired: 0, letters: 0, done: true };
}

/** Deletes children before parents: a run whose last child was deleted can follow in the same call. */
function pruneRuns(tables: Tables, { runsEndedBefore, runId, statuses, limit }: PruneRequest): number {
  if (runsEndedBefore === null) return 0;
  const terminal = (statuses ?? STATUSES).filter(isTerminal);
  let removed = 0;
  while (removed < limit) {
    const query = { before: runsEndedBefore, statuses: terminal, limit: limit - removed };
    const ended = tables.runs.ended(runId === undefined ? query : { ...query, id: runId });
    if (ended.length === 0) return removed;
    for (const head of ended) removeRun(tables, head);
    removed += ended.length;
  }
  return removed;
}

function removeRun(tables: Tables, head: RunHead): void {
  tables.journal.cut(head, Number.MAX_SAFE_INTEGER);
  tables.inbox.removeAll(head);
  tables.topics.forgetSeen(head);
  tables.documents.removeOf(head.id);
  tables.runs.remove(head);
}

function deleteReceived(tables: Tables, before: number, limit: number): number {
  const ids = tables.inbox.forgetBefore(before, limit);
  return ids + (ids < limit ? tables.events.removeBefore(before, limit - ids) : 0);
}
