import type { Completion, Parent, RecordView, SinceSnapshot } from "pawl";
import { HistoryRecorder } from "../history/history-recorder.ts";
import { applyEvent } from "../machine/advance.ts";
import type { MachineEvent, OperatorAction, Variables } from "../machine/state.ts";
import { createWorkingState, fromState, type WorkingState } from "../machine/working-state.ts";
import type { Expression, Process } from "../model/process.ts";
import type { ProcessInput } from "./process-input.ts";
import { eventOf } from "./process-program.ts";
import { fromSnapshotState, type ProcessSnapshot } from "./process-snapshot.ts";

export interface RunToRebuild {
  readonly id: string;
  readonly input: ProcessInput;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly parent: Parent | null;
}

type EvaluateAt = (expression: Expression, variables: Variables) => unknown;

/** What observes a rebuild: told of each event before and after it is applied. */
interface Follower {
  begin(seq: number, at: number): void;
  settle(): void;
}

/** Rebuilds the state of a run from its snapshot and the records after it. Throws `PAYLOAD_UNREADABLE` if a record cannot be read. */
export function rebuildState(
  process: Process,
  evaluate: EvaluateAt,
  run: RunToRebuild,
  { snapshot, records }: SinceSnapshot,
): WorkingState {
  const { state, isNew } = initialState(process, evaluate, run, snapshot);
  feed(state, run, { records, isNew }, null);
  return state;
}

/** Rebuilds the state of a run from all of its records, and records what its elements and tokens did. */
export function rebuildHistory(
  process: Process,
  evaluate: EvaluateAt,
  run: RunToRebuild,
  records: readonly RecordView[],
): { readonly state: WorkingState; readonly recorder: HistoryRecorder } {
  const { state, isNew } = initialState(process, evaluate, run, null);
  const recorder = new HistoryRecorder(state);
  state.observer = recorder;
  feed(state, run, { records, isNew }, recorder);
  state.observer = null;
  return { state, recorder };
}

/** `isNew`: the instance has not started in this state. */
function initialState(
  process: Process,
  evaluate: EvaluateAt,
  { input, parent }: RunToRebuild,
  snapshot: SinceSnapshot["snapshot"],
): { readonly state: WorkingState; readonly isNew: boolean } {
  const environment = { evaluate, isCalled: parent !== null };
  const stored =
    (snapshot?.state as ProcessSnapshot | undefined)?.machine ??
    (input.migrated?.machine as ProcessSnapshot["machine"] | undefined);
  if (stored === undefined) return { state: createWorkingState(process, environment), isNew: true };
  return { state: fromState(process, environment, fromSnapshotState(stored)), isNew: false };
}

function feed(
  state: WorkingState,
  run: RunToRebuild,
  { records, isNew }: { readonly records: readonly RecordView[]; readonly isNew: boolean },
  recorder: (Follower & Pick<HistoryRecorder, "retried">) | null,
): void {
  const apply = (event: MachineEvent, seq: number): void => {
    recorder?.begin(seq, event.at);
    applyEvent(state, event);
    recorder?.settle();
  };
  if (isNew) apply({ kind: "started", ...run.input, at: redirectedAt(records, -1, startOf(run, records)) }, 0);
  records.forEach((record, index) => {
    if (record.unreadable !== null) throw record.unreadable;
    const { kind, location, error, at } = record;
    if (kind === "retry") recorder?.retried(location, { message: error?.message ?? "", code: null, at });
    const event = eventOfRecord(state, run.id, record, redirectedAt(records, index, at));
    if (event !== null) apply(event, record.seq);
  });
}

/** The journal of a fork begins with the time at which its origin started. */
function startOf({ startedAt, createdAt }: RunToRebuild, [first]: readonly RecordView[]): number {
  return first?.kind === "operator" && first.detail === "origin" ? first.startedAt : (startedAt ?? createdAt);
}

const REDIRECTING: ReadonlySet<string | null> = new Set(["rewind", "retry", "fork"]);

/** The program's time at a record is that of the last redirecting operator action that follows it directly. */
function redirectedAt(records: readonly RecordView[], index: number, at: number): number {
  let time = at;
  for (let next = index + 1; records[next]?.kind === "operator"; next += 1) {
    const record = records[next];
    if (record !== undefined && REDIRECTING.has(record.detail)) time = record.at;
  }
  return time;
}

/** The machine event of a record. Null if the record has none. */
function eventOfRecord(state: WorkingState, runId: string, record: RecordView, at: number): MachineEvent | null {
  const { kind } = record;
  if (kind === "retry" || kind === "started" || kind === "operator" || kind === "warning") return null;
  if (record.location.startsWith("~act#")) return actionOfRecord(record, at);
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

function actionOfRecord({ value, detail }: RecordView, at: number): MachineEvent | null {
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
