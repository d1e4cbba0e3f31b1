import { PawlError, type ProgramHost } from "pawl";
import type { Row, State } from "../machine/state.ts";
import type { CallState } from "./call-activities.ts";

/** All of a process run, as its snapshots have it. */
export interface Kept {
  readonly machine: KeptState;
  readonly calls: readonly CallState[];
  readonly acts: number;
}

/** A state whose rows leave out what they have as every row begins, and how they are linked: it follows from their order. */
type KeptState = Omit<State, "rows"> & { readonly rows: readonly KeptRow[] };
type KeptRow = Pick<Row, "id" | "parent" | "element" | "place"> & Partial<Row>;

type Beginning = Omit<Row, "id" | "parent" | "element" | "place">;

const BEGINNING: Beginning = {
  children: 0,
  pending: 0,
  first: 0,
  last: 0,
  previous: 0,
  next: 0,
  variables: null,
  result: null,
  asked: null,
  instance: null,
  incident: null,
  role: { kind: "plain" },
};

export function keptState(state: State): KeptState {
  return { ...state, rows: state.rows.map(keptRow) };
}

function keptRow({ id, parent, element, place, ...rest }: Row): KeptRow {
  const { pending, variables, result, asked, instance, incident, role } = rest;
  return {
    id,
    parent,
    element,
    place,
    ...(pending !== 0 && { pending }),
    ...(variables !== null && { variables }),
    ...(result !== null && { result }),
    ...(asked !== null && { asked }),
    ...(instance !== null && { instance }),
    ...(incident !== null && { incident }),
    ...(role.kind !== "plain" && { role }),
  };
}

export function stateIn({ rows, ...rest }: KeptState): State {
  const all = rows.map((row): Row => ({ ...BEGINNING, ...row, children: 0, first: 0, last: 0, previous: 0, next: 0 }));
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

/** False: it is larger than the engine keeps. Then the run is read from an older one, and more of its journal. */
export function keep(host: ProgramHost, kept: Kept): boolean {
  try {
    host.snapshot(kept);
    return true;
  } catch (error) {
    if (error instanceof PawlError && error.code === "PAYLOAD_TOO_LARGE") return false;
    throw error;
  }
}
