import type { Completion, Parent, RecordView, SinceSnapshot } from "pawl";
import { applyEvent } from "../machine/advance.ts";
import type { MachineEvent, OperatorAction, Variables } from "../machine/state.ts";
import { createWorkingState, fromState, type WorkingState } from "../machine/working-state.ts";
import type { Expression, Process } from "../model/process.ts";
import type { ProcessInput } from "./process-input.ts";
import { eventOf } from "./process-program.ts";
import { fromSnapshotState, type ProcessSnapshot } from "./process-snapshot.ts";

interface RunToRebuild {
  readonly id: string;
  readonly input: ProcessInput;
  readonly createdAt: number;
  readonly parent: Parent | null;
}

/** Rebuilds the state of a run from its snapshot and the records after it. Throws `PAYLOAD_UNREADABLE` if a record cannot be read. */
export function rebuildState(
  process: Process,
  evaluate: (expression: Expression, variables: Variables) => unknown,
  run: RunToRebuild,
  { snapshot, records }: SinceSnapshot,
): WorkingState {
  const environment = { evaluate, isCalled: run.parent !== null };
  const stored =
    (snapshot?.state as ProcessSnapshot | undefined)?.machine ??
    (run.input.migrated?.machine as ProcessSnapshot["machine"] | undefined);
  const state =
    stored === undefined
      ? createWorkingState(process, environment)
      : fromState(process, environment, fromSnapshotState(stored));
  if (stored === undefined) applyEvent(state, { kind: "started", at: run.createdAt, ...run.input });
  for (const record of records) {
    if (record.unreadable !== null) throw record.unreadable;
    const event = eventOfRecord(state, run.id, record);
    if (event !== null) applyEvent(state, event);
  }
  return state;
}

/** The machine event of a record. Null if the record has none. */
function eventOfRecord(state: WorkingState, runId: string, record: RecordView): MachineEvent | null {
  const { kind, at } = record;
  if (kind === "retry" || kind === "started" || kind === "operator" || kind === "warning") return null;
  if (record.location.startsWith("~act#")) return actionOfRecord(record);
  const location = commandLocation(record);
  const command = state.commands.get(location);
  if (command === undefined) return null;
  if (kind === "spawn") {
    const isOver = command.kind === "call" && !command.waits;
    return isOver ? { kind: "completed", at, location, variables: {}, value: {} } : null;
  }
  // This record only resolved the workflow; the call continues.
  if (command.kind === "call" && kind === "step" && record.outcome === "ok") return null;
  if (kind === "emit" || kind === "send") return { kind: "sent", at, location };
  return eventOf({ runId, at }, command, completionOf(record));
}

/** The location of the command of a record. A call has several records. */
function commandLocation({ kind, location }: RecordView): string {
  if (kind === "child") return location.slice(0, -"/result".length);
  return kind === "spawn" ? location.slice(0, -"/start".length) : location;
}

function actionOfRecord({ value, detail, at }: RecordView): MachineEvent | null {
  const { value: sent } = (value ?? {}) as { readonly value?: unknown };
  if (detail === "act") return { ...(sent as OperatorAction), at };
  const { location, code, variables } = sent as {
    readonly location: string;
    readonly code: string | null;
    readonly variables: Variables;
  };
  return { kind: "escalated", at, location: location.slice(0, -"/start".length), code, variables };
}

function completionOf({ outcome, value, error, detail }: RecordView): Completion {
  if (outcome === "failed") return { outcome, error: error ?? new Error("the operation failed"), detail };
  return outcome === "timedOut" ? { outcome } : { outcome, value, detail };
}
