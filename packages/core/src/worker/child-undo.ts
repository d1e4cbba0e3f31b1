import { PawlError } from "../model/errors.ts";
import { undoRunId } from "../model/names.ts";
import type { Op, OutcomeOf } from "../model/op.ts";
import { operatorActionOf, operatorRecord } from "../model/operator-action.ts";
import type { Codec } from "../model/payload.ts";
import { compensateRecord, type NewRecord } from "../model/record.ts";
import { isTerminal, type NewRun } from "../model/run.ts";
import type { OriginOf } from "../runner/operator-records.ts";
import type { ChildState, ChildUndo } from "../runner/session-ports.ts";
import type { Loaded, Store } from "../store/store.ts";

export interface UndoRunParts {
  readonly store: Store;
  readonly codec: Codec;
  readonly ops: { submit<O extends Op>(op: O): Promise<OutcomeOf<O>> };
}

/**
 * Starts the run that undoes a completed child: a run of the child's workflow with the child's history, stopped at its end. Its id is
 * derived from the child's, so it is started once. Returns its id, or null if there is nothing to undo or another run undoes it: a
 * fork shares the children of its origin.
 */
export async function startUndoRun({ store, codec, ops }: UndoRunParts, child: ChildUndo): Promise<string | null> {
  const loaded = await store.load(child.child, 0);
  if (loaded === null || loaded.run.status !== "completed" || loaded.run.undo !== "some") return null;
  const { run } = loaded;
  const id = undoRunId(run.id);
  const now = store.now();
  const undo: NewRun = {
    id,
    workflow: run.workflow,
    version: run.version,
    input: run.input,
    tags: run.tags,
    parent: { runId: child.parent, location: child.location, onClose: "abandon" },
    createdAt: now,
    startId: undoRunId(child.parent),
    owner: null,
    startAt: now,
  };
  const stop = withoutSeq(compensateRecord(0, { end: "cancelled", reason: child.reason }, now));
  const records = [...withOrigin(codec, loaded), stop];
  const { kind } = await ops.submit({ kind: "start", run: undo, history: { records, inbox: [], undo: "underWay" } });
  return kind === "started" ? id : null;
}

/**
 * Returns the state of a child that was started by `parent` or, if the journal of `parent` is a copy, by the run it was copied from. A
 * child that no worker executes may never read its cancel, so it is cancelled here.
 */
export async function closeChild(
  { store, ops }: Pick<UndoRunParts, "store" | "ops">,
  { child, parent, reason }: ChildUndo,
): Promise<ChildState> {
  const run = await store.reader.get(child);
  if (run === null || run.parent?.onClose !== "cancel") return "ended";
  if (isTerminal(run.status)) return run.status === "completed" && run.undo === "some" ? "undoable" : "ended";
  if (run.parent.runId === parent) {
    const isIdle = run.status === "paused" || run.status === "pending";
    if (isIdle) await ops.submit({ kind: "cancel", runId: child, opId: `close:${parent}`, reason });
    return "open";
  }
  const owner = await store.reader.get(run.parent.runId);
  if (owner !== null && !isTerminal(owner.status)) return "ended";
  throw new PawlError(
    "CHILD_OPEN",
    `child ${child} of run ${run.parent.runId} has been cancelled and has not ended yet`,
  );
}

/** Adds the record that makes the history replay with the child's randomness and start time. */
function withOrigin(codec: Codec, { run, records }: Loaded): readonly NewRecord[] {
  const copied = Array.from(records, withoutSeq);
  const first = records.at(0);
  if (first !== undefined && operatorActionOf(first) === "origin") return copied;
  const origin: OriginOf = { run: run.id, generation: run.generation };
  const at = run.startedAt ?? run.createdAt;
  return [operatorRecord("origin", codec.encode(origin, "origin"), { startedAt: at, at }), ...copied];
}

function withoutSeq({ seq: _, ...record }: NewRecord & { readonly seq: number }): NewRecord {
  return record;
}
