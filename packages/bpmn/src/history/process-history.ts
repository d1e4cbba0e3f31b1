import type { RecordView, RunSummary } from "pawl";
import type { Evaluate } from "../expressions.ts";
import type { Command, Row, Variables } from "../machine/state.ts";
import { ROOT, type WorkingState } from "../machine/working-state.ts";
import type { Process } from "../model/process.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { rebuildHistory } from "../program/rebuild-state.ts";
import type { HistoryRecorder } from "./history-recorder.ts";
import type { NodeError, TrackedNode } from "./node-history.ts";
import type { TokenStatus, TokenVisit, TrackedToken } from "./token-history.ts";

/**
 * - `active`: works, or contains active elements.
 * - `waiting`: for a time, a message, a person, a called process, or after an incident for an operator.
 * - `failed`: has an incident, or has ended by a BPMN error.
 * - `skipped`: an operator completed it without executing it.
 * - `terminated`: was interrupted or cancelled.
 */
export type NodeStatus = "active" | "waiting" | "completed" | "failed" | "skipped" | "terminated";

/** One passing of an element: of an activity, an event or a gateway. */
export interface NodeView {
  /** Identifies it in its run. */
  readonly row: number;
  readonly element: string;
  readonly name: string | null;
  readonly type: string;
  readonly status: NodeStatus;
  /** The row of the sub-process or multi-instance activity that contains it. 0 for the process. */
  readonly scope: number;
  /** The index of the instance of a multi-instance activity, from 0. Null for other elements. */
  readonly instance: number | null;
  readonly token: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** The records with which it started and ended. 0 is the start of the run. */
  readonly startedSeq: number;
  readonly endedSeq: number | null;
  /** The variables that its handler, its task or its called process received. Null for other elements. */
  readonly input: Variables | null;
  /** The variables that it assigned. Null if it has not completed. */
  readonly output: Variables | null;
  /** The sequence flows that it took. */
  readonly flows: readonly string[];
  readonly retriesCount: number;
  readonly errorCount: number;
  readonly lastError: NodeError | null;
}

/** An element of the model, with what became of it. */
export interface ElementView {
  readonly element: string;
  readonly name: string | null;
  readonly type: string;
  /**
   * The status of its last passing that has not ended, or else of the last one. `pending` if the run has not reached it yet, and `skipped` if the
   * run has ended without it.
   */
  readonly status: NodeStatus | "pending";
  readonly started: number;
  readonly completed: number;
  /** Its last passing. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly retriesCount: number;
  readonly errorCount: number;
}

export interface TokenView {
  readonly id: number;
  /** The token that it was split off, or that waits around it. Null if there is none. */
  readonly parent: number | null;
  /** The tokens that a join made it of. */
  readonly mergedFrom: readonly number[];
  /** The element where it is, or was last. */
  readonly element: string;
  readonly status: TokenStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** The elements that it was at, oldest first. */
  readonly history: readonly TokenVisit[];
}

/** A token that waits at a join, or at an activity that needs several tokens. */
export interface ArrivalView {
  /** The row of the sub-process. 0 for the process. */
  readonly scope: number;
  readonly element: string;
  /** The flow by which it arrived. Empty at an activity. */
  readonly flow: string;
  readonly token: number;
  readonly at: number;
}

/** Everything that a process run did, up to the record `seq`. */
export interface ProcessHistory {
  readonly runId: string;
  readonly process: string;
  readonly version: number;
  /** The newest record that it contains. */
  readonly seq: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** In the order in which they were reached. */
  readonly nodes: readonly NodeView[];
  /** Every element, in the order of the model. */
  readonly elements: readonly ElementView[];
  readonly tokens: readonly TokenView[];
  readonly arrivals: readonly ArrivalView[];
  readonly retriesCount: number;
  readonly errorCount: number;
  readonly lastError: NodeError | null;
}

/** Rebuilds a run from its records, and lists what its elements and tokens did. `isWhole`: the records are all that the run has. */
export function historyOf(
  process: Process,
  evaluate: Evaluate,
  run: RunSummary,
  { records, isWhole }: { readonly records: readonly RecordView[]; readonly isWhole: boolean },
): ProcessHistory {
  const rebuilt = rebuildHistory(process, evaluate, { ...run, input: run.input as ProcessInput }, records);
  return assembled(rebuilt, run, { seq: records.at(-1)?.seq ?? run.baseSeq, endedAt: isWhole ? run.endedAt : null });
}

interface Rebuilt {
  readonly state: WorkingState;
  readonly recorder: HistoryRecorder;
}

function assembled(
  { state, recorder }: Rebuilt,
  run: RunSummary,
  { seq, endedAt }: { readonly seq: number; readonly endedAt: number | null },
): ProcessHistory {
  const { process } = state;
  const statuses = openStatuses(state);
  const statusOf = (row: number): NodeStatus => (endedAt === null ? (statuses.get(row) ?? "active") : "terminated");
  const nodes = [...recorder.nodes.all.values()].map((node) => nodeView(process, node, statusOf, endedAt));
  const erred = nodes.filter(({ lastError }) => lastError !== null);
  const lastError = erred.reduce<NodeError | null>(
    (last, node) => (last === null || (node.lastError?.at ?? 0) >= last.at ? node.lastError : last),
    null,
  );
  return {
    runId: run.id,
    process: process.id,
    version: run.version,
    seq,
    startedAt: run.startedAt ?? run.createdAt,
    endedAt,
    nodes,
    elements: elementViews(process, nodes, endedAt),
    tokens: [...recorder.tokens.all.values()].map((token) => tokenView(token, statusOf, endedAt)),
    arrivals: endedAt === null ? recorder.tokens.arrivals.map((each) => ({ ...each, scope: shown(each.scope) })) : [],
    retriesCount: sum(nodes, ({ retriesCount }) => retriesCount),
    errorCount: sum(nodes, ({ errorCount }) => errorCount),
    lastError,
  };
}

/** Operators see the process itself as row 0. */
function shown(row: number): number {
  return row === ROOT ? 0 : row;
}

function sum<Item>(items: readonly Item[], count: (item: Item) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}

/** The status of each row that is not active: it waits, or it has an incident. */
function openStatuses(state: WorkingState): ReadonlyMap<number, NodeStatus> {
  const statuses = new Map<number, NodeStatus>();
  for (const { row: id, element } of state.subscriptions.values()) {
    const row = state.rows.get(id);
    if (row !== undefined && isOwn(state, row, element)) statuses.set(id, "waiting");
  }
  for (const command of state.commands.values()) {
    if ("row" in command && isWait(command)) statuses.set(command.row, "waiting");
  }
  for (const { id, incident } of state.rows.values()) if (incident !== null) statuses.set(id, "failed");
  return statuses;
}

/** Whether a row waits for the event itself. Boundary events and event sub-processes wait beside their row. */
function isOwn({ process }: WorkingState, row: Row, element: string): boolean {
  return element === row.element || process.elements.get(row.element)?.type === "eventBasedGateway";
}

function isWait({ kind }: Command): boolean {
  return kind === "task" || kind === "call";
}

function nodeView(
  process: Process,
  { end, parent, isSkipped: _, location: __, ...node }: TrackedNode,
  statusOf: (row: number) => NodeStatus,
  endedAt: number | null,
): NodeView {
  const element = process.elements.get(node.element);
  return {
    ...node,
    name: element?.name ?? null,
    type: element?.type ?? "",
    status: statusWithIncident(end, statusOf(node.row)),
    scope: shown(parent),
    endedAt: end === null ? endedAt : node.endedAt,
  };
}

/** A completed element that cannot take its flows has an incident. */
function statusWithIncident(end: TrackedNode["end"], open: NodeStatus): NodeStatus {
  return end === null || (end === "completed" && open === "failed") ? open : end;
}

function tokenView(
  { id, parent, mergedFrom, createdAt, visits, end, ...token }: TrackedToken,
  statusOf: (row: number) => NodeStatus,
  endedAt: number | null,
): TokenView {
  const last = visits.at(-1);
  const open = last?.row === null ? "waiting" : statusOf(last?.row ?? 0);
  const openStatus = endedAt !== null ? "terminated" : open === "active" ? "active" : "waiting";
  const isOpen = end === null && last !== undefined && last.leftAt === null;
  const current = { ...last, status: openStatus, leftAt: endedAt } as TokenVisit;
  return {
    id,
    parent,
    mergedFrom,
    element: last?.element ?? "",
    status: end ?? openStatus,
    createdAt,
    endedAt: end === null ? endedAt : token.endedAt,
    history: isOpen ? [...visits.slice(0, -1), current] : visits,
  };
}

function elementViews(process: Process, nodes: readonly NodeView[], endedAt: number | null): readonly ElementView[] {
  const byElement = new Map<string, NodeView[]>();
  for (const node of nodes) {
    const all = byElement.get(node.element);
    if (all === undefined) byElement.set(node.element, [node]);
    else all.push(node);
  }
  return [...process.elements.values()].map(({ id, name, type }) => {
    const all = byElement.get(id) ?? [];
    const last = all.findLast((node) => node.endedAt === null) ?? all.at(-1);
    return {
      element: id,
      name,
      type,
      status: last?.status ?? (endedAt === null ? "pending" : "skipped"),
      started: all.length,
      completed: all.filter(({ status }) => status === "completed" || status === "skipped").length,
      startedAt: last?.startedAt ?? null,
      endedAt: last?.endedAt ?? null,
      retriesCount: sum(all, ({ retriesCount }) => retriesCount),
      errorCount: sum(all, ({ errorCount }) => errorCount),
    };
  });
}
