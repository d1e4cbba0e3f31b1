import { type ActOptions, kinds, optionTable, PawlError, type ReceivedEntry, type RecordView } from "pawl";
import type { NodeView, ProcessHistory } from "../history/process-history.ts";
import type { OperatorAction } from "../machine/state.ts";
import { ACTION_MESSAGE, ESCALATION_MESSAGE, TASK_DONE } from "../program/topics.ts";

/** The place that a run returns to. */
export interface RollbackTarget {
  /** The name of a snapshot. The newest one of that name counts. */
  readonly snapshot?: string;
  /** The id of an element. Its last passing counts. */
  readonly element?: string;
  /** One passing of an element, as in `history`. */
  readonly row?: number;
}

/** Who takes a snapshot, and why. */
export type SnapshotOptions = Pick<ActOptions, "by" | "why">;

export interface RollbackOptions extends ActOptions {
  /**
   * Whether messages and signals that the run received after the place are received again. Completions of tasks and operator actions never
   * are. Default `redeliver`.
   */
  readonly messages?: "redeliver" | "drop";
}

/** A point of a run to return to. */
export interface SnapshotView {
  readonly kind: "named" | "join";
  /** The name of the snapshot, or the id of the gateway. */
  readonly name: string;
  /** The record after which the run was there. */
  readonly seq: number;
  readonly at: number;
  /** The passing of the gateway. Null for a named snapshot. */
  readonly row: number | null;
  readonly by: string | null;
  readonly why: string | null;
}

export const SNAPSHOT_OPTIONS = optionTable<SnapshotOptions>("snapshot", { by: kinds.text, why: kinds.text });
export const ROLLBACK_OPTIONS = optionTable<RollbackOptions>("rollback", {
  id: kinds.name,
  by: kinds.text,
  why: kinds.text,
  messages: kinds.oneOf("redeliver", "drop"),
});
export const ROLLBACK_TARGET = optionTable<RollbackTarget>("the target of rollback", {
  snapshot: kinds.name,
  element: kinds.name,
  row: kinds.integer(0),
});

/** Completions of tasks and operator actions belong to what is dropped. Messages of others still have to be received. */
export function isRedelivered({ kind, name }: ReceivedEntry): boolean {
  return kind === "event" || !(name === ACTION_MESSAGE || name === ESCALATION_MESSAGE || name === TASK_DONE);
}

/** The named snapshots of a run, and the joins that it has passed. */
export function snapshotsOf(
  records: readonly RecordView[],
  { nodes, tokens }: ProcessHistory,
): readonly SnapshotView[] {
  const named = records.flatMap(({ location, detail, value, seq, at }): readonly SnapshotView[] => {
    if (!location.startsWith("~act#") || detail !== "act") return [];
    const { value: action } = (value ?? {}) as { readonly value?: Partial<OperatorAction> };
    if (action?.kind !== "snapshot") return [];
    const { name = "", by = null, why = null } = action as Partial<Extract<OperatorAction, { kind: "snapshot" }>>;
    return [{ kind: "named", name, seq, at, row: null, by, why }];
  });
  const merged = new Map(tokens.filter(({ mergedFrom }) => mergedFrom.length > 0).map((token) => [token.id, token]));
  const joins = nodes.flatMap(({ element, type, row, token, startedSeq, startedAt }): readonly SnapshotView[] => {
    const isJoin = type.endsWith("Gateway") && merged.get(token ?? 0)?.history[0]?.element === element;
    return isJoin ? [{ kind: "join", name: element, seq: startedSeq, at: startedAt, row, by: null, why: null }] : [];
  });
  return [...named, ...joins].sort((a, b) => a.seq - b.seq);
}

/** The record after which the run was at the target. 0 is its start. */
export function seqOf(
  runId: string,
  { snapshot, element, row }: RollbackTarget,
  snapshots: readonly SnapshotView[],
  { nodes }: ProcessHistory,
): number {
  if ([snapshot, element, row].filter((each) => each !== undefined).length !== 1)
    throw new PawlError("OPTION_INVALID", "rollback takes one of snapshot, element and row");
  if (snapshot !== undefined) {
    const named = snapshots.filter(({ kind }) => kind === "named");
    const found = named.findLast(({ name }) => name === snapshot);
    if (found !== undefined) return found.seq;
    throw missing(runId, `snapshot ${snapshot}`, `its snapshots: ${listed(named.map(({ name }) => name))}`);
  }
  const isIt = (node: NodeView): boolean => (row === undefined ? node.element === element : node.row === row);
  const found = nodes.findLast(isIt);
  if (found !== undefined) return found.startedSeq;
  const passed = listed(nodes.map((node) => (row === undefined ? node.element : `${node.row} (${node.element})`)));
  throw missing(runId, row === undefined ? `element ${element}` : `row ${row}`, `it has passed: ${passed}`);
}

function missing(runId: string, what: string, instead: string): PawlError {
  return new PawlError("PROCESS_STATE", `run ${runId} has no ${what} to roll back to; ${instead}`);
}

const LISTED_MAX = 20;

function listed(names: readonly string[]): string {
  const all = [...new Set(names)];
  const more = all.length > LISTED_MAX ? [`and ${all.length - LISTED_MAX} more`] : [];
  return [...all.slice(0, LISTED_MAX), ...more].join(", ") || "none";
}
