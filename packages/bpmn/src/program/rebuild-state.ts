import type { Completion, Parent, RecordView, SinceSnapshot } from "pawl";
import { take } from "../machine/advance.ts";
import type { Act, MachineEvent, Variables } from "../machine/state.ts";
import { createLive, type Live, thaw } from "../machine/working-state.ts";
import type { Expression, Process } from "../model/process.ts";
import type { ProcessInput } from "./process-input.ts";
import { eventOf } from "./process-program.ts";
import { type Kept, stateIn } from "./process-snapshot.ts";

export interface Rebuilt {
  readonly id: string;
  readonly input: ProcessInput;
  readonly createdAt: number;
  readonly parent: Parent | null;
}

/** The state of a run, from its snapshot and its journal: what its program has been fed since is fed to the machine again. */
export function rebuild(
  process: Process,
  evaluate: (expression: Expression, variables: Variables) => unknown,
  run: Rebuilt,
  { snapshot, records }: SinceSnapshot,
): Live {
  const environment = { evaluate, isCalled: run.parent !== null };
  const kept =
    (snapshot?.state as Kept | undefined)?.machine ?? (run.input.migrated?.machine as Kept["machine"] | undefined);
  const live = kept === undefined ? createLive(process, environment) : thaw(process, environment, stateIn(kept));
  if (kept === undefined) take(live, { kind: "started", at: run.createdAt, ...run.input });
  for (const record of records) {
    const event = eventIn(live, run.id, record);
    if (event !== null) take(live, event);
  }
  return live;
}

/** What a record told the machine; null: nothing. */
function eventIn(live: Live, runId: string, record: RecordView): MachineEvent | null {
  const { location, kind, at } = record;
  if (kind === "retry" || kind === "operator" || kind === "warning") return null;
  if (location.startsWith("~act#")) return actIn(record);
  const place = placeOf(record);
  const command = live.commands.get(place);
  if (command === undefined) return null;
  if (kind === "spawn") {
    const isOver = command.kind === "call" && !command.waits;
    return isOver ? { kind: "completed", at, place, variables: {}, value: {} } : null;
  }
  // A call that goes on has only found out whom it means.
  if (command.kind === "call" && kind === "step" && record.outcome === "ok") return null;
  if (kind === "emit" || kind === "send") return { kind: "told", at, place };
  return eventOf({ runId, at }, command, completionOf(record));
}

/** A call has more than one record. */
function placeOf({ kind, location }: RecordView): string {
  if (kind === "child") return location.slice(0, -"/result".length);
  return kind === "spawn" ? location.slice(0, -"/start".length) : location;
}

function actIn({ value, detail, at }: RecordView): MachineEvent | null {
  const { value: sent } = (value ?? {}) as { readonly value?: unknown };
  if (detail === "act") return { ...(sent as Act), at };
  const { location, code, variables } = sent as {
    readonly location: string;
    readonly code: string | null;
    readonly variables: Variables;
  };
  return { kind: "escalated", at, place: location.slice(0, -"/start".length), code, variables };
}

function completionOf({ outcome, value, error, detail }: RecordView): Completion {
  if (outcome === "failed") return { outcome, error: error ?? new Error("it failed"), detail };
  return outcome === "timedOut" ? { outcome } : { outcome, value, detail };
}
