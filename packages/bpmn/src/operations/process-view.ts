import type { RunSummary, SinceSnapshot } from "pawl";
import type { Evaluate } from "../expressions.ts";
import type { IncidentKind, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import { elementOf, ROOT } from "../machine/working-state.ts";
import type { Process } from "../model/process.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { rebuildState } from "../program/rebuild-state.ts";
import { type OpenSubscription, openSubscriptions } from "./open-subscriptions.ts";
import { type WaitingJoin, waitingJoins } from "./waiting-joins.ts";

/** An active element of a run. */
export interface ActiveNode {
  /** Identifies this activation. Operator actions take it as an argument. */
  readonly row: number;
  readonly element: string;
  readonly name: string | null;
  readonly type: string;
  /** Its local variables. */
  readonly variables: Variables;
}

export interface WaitingTask {
  readonly location: string;
  readonly row: number;
  readonly element: string;
  readonly name: string | null;
  readonly variables: Variables;
}

export interface IncidentView {
  readonly row: number;
  readonly element: string;
  readonly kind: IncidentKind;
  readonly message: string;
  readonly at: number;
}

/** The state of a process run. */
export interface ProcessView {
  readonly runId: string;
  readonly process: string;
  readonly version: number;
  /** Null if it has none. */
  readonly businessKey: string | null;
  /** The user who started it. Null if unknown. */
  readonly startedBy: string | null;
  readonly startedAt: number;
  readonly priority: number | null;
  /** For an earlier record, `running`. */
  readonly status: RunSummary["status"];
  readonly currentNodes: readonly ActiveNode[];
  /** How often each element has completed, in order of first completion. */
  readonly completedNodes: ReadonlyArray<{ readonly element: string; readonly times: number }>;
  readonly variables: Variables;
  readonly tasks: readonly WaitingTask[];
  readonly incidents: readonly IncidentView[];
  /** Elements that hold tokens until more of them arrive. They are not among `currentNodes`: no operator action applies to them. */
  readonly joins: readonly WaitingJoin[];
  /** What its elements wait for: times, messages, signals and conditions. Errors and escalations are caught without one. */
  readonly subscriptions: readonly OpenSubscription[];
  /** The newest record that the view contains. */
  readonly seq: number;
  /** Fraction of the elements that have completed at least once, 0 to 1. 1 if the run has completed. */
  readonly progress: number;
}

export function viewOf(process: Process, evaluate: Evaluate, run: RunSummary, since: SinceSnapshot): ProcessView {
  const input = run.input as ProcessInput;
  const state = rebuildState(process, evaluate, { ...run, input }, since);
  const rows = [...state.rows.values()];
  const active = rows.filter(({ id }) => id !== ROOT);
  const named = (row: number) => {
    const id = state.rows.get(row)?.element ?? "";
    return { row, element: id, name: process.elements.get(id)?.name ?? null };
  };
  return {
    runId: run.id,
    process: process.id,
    version: run.version,
    businessKey: input.businessKey ?? null,
    startedBy: input.by ?? null,
    startedAt: run.startedAt ?? run.createdAt,
    priority: input.priority ?? null,
    status: run.status,
    currentNodes: active.map((row) => ({
      ...named(row.id),
      type: elementOf(state, row)?.type ?? "",
      variables: row.variables ?? {},
    })),
    completedNodes: [...state.completed].map(([element, times]) => ({ element, times })),
    variables: state.rows.get(ROOT)?.variables ?? {},
    tasks: [...state.commands.values()].flatMap((command) =>
      command.kind === "task"
        ? [{ location: command.location, ...named(command.row), variables: variablesOfRow(state, command.row) }]
        : [],
    ),
    incidents: active.flatMap(({ id, element, incident }) => {
      if (incident === null) return [];
      const { kind, message, at } = incident;
      return [{ row: id, element, kind, message, at }];
    }),
    joins: waitingJoins(state, ROOT),
    subscriptions: openSubscriptions(state),
    seq: since.records.at(-1)?.seq ?? since.snapshot?.seq ?? run.baseSeq,
    progress: run.status === "completed" ? 1 : state.completed.size / Math.max(1, process.elements.size),
  };
}
