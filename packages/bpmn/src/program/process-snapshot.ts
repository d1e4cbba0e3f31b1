import { PawlError, type ProgramHost } from "pawl";
import type { Row, State } from "../machine/state.ts";
import type { CallState } from "./call-activities.ts";

/** A snapshot of a process run. */
export interface ProcessSnapshot {
  readonly machine: SnapshotState;
  readonly calls: readonly CallState[];
  readonly actions: number;
}

/** A state whose rows omit default values and links. The links follow from the order of the rows. */
type SnapshotState = Omit<State, "rows"> & { readonly rows: readonly SnapshotRow[] };
type SnapshotRow = Pick<Row, "id" | "parent" | "element" | "location"> & Partial<Row>;

type RowDefaults = Omit<Row, "id" | "parent" | "element" | "location">;

const ROW_DEFAULTS: RowDefaults = {
  children: 0,
  pending: 0,
  first: 0,
  last: 0,
  previous: 0,
  next: 0,
  variables: null,
  result: null,
  commandCounts: null,
  instance: null,
  incident: null,
  role: { kind: "plain" },
};

export function toSnapshotState(state: State): SnapshotState {
  return { ...state, rows: state.rows.map(toSnapshotRow) };
}

function toSnapshotRow({ id, parent, element, location, ...rest }: Row): SnapshotRow {
  const { pending, variables, result, commandCounts, instance, incident, role } = rest;
  return {
    id,
    parent,
    element,
    location,
    ...(pending !== 0 && { pending }),
    ...(variables !== null && { variables }),
    ...(result !== null && { result }),
    ...(commandCounts !== null && { commandCounts }),
    ...(instance !== null && { instance }),
    ...(incident !== null && { incident }),
    ...(role.kind !== "plain" && { role }),
  };
}

export function fromSnapshotState({ rows, ...rest }: SnapshotState): State {
  const all = rows.map(
    (row): Row => ({ ...ROW_DEFAULTS, ...row, children: 0, first: 0, last: 0, previous: 0, next: 0 }),
  );
  const byId = new Map(all.map((row) => [row.id, row]));
  for (const row of all) {
    const above = byId.get(row.parent);
    if (above === undefined) continue;
    const last = byId.get(above.last);
    if (last === undefined) above.first = row.id;
    else last.next = row.id;
    row.previous = above.last;
    above.last = row.id;
    above.children += 1;
  }
  return { ...rest, rows: all };
}

/** Takes a snapshot. False if it exceeds the size limit; then the run is replayed from an older snapshot. */
export function saveSnapshot(host: ProgramHost, snapshot: ProcessSnapshot): boolean {
  try {
    host.snapshot(snapshot);
    return true;
  } catch (error) {
    if (error instanceof PawlError && error.code === "PAYLOAD_TOO_LARGE") return false;
    throw error;
  }
}
