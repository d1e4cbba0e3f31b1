import type { TokenId } from "./observer.ts";
import type { Role, Row, Variables } from "./state.ts";
import { enqueue, newLocation, releaseRow, type WorkingState } from "./working-state.ts";

interface NewRow {
  readonly parent: number;
  readonly element: string;
  readonly role: Role;
  readonly variables?: Record<string, unknown> | null;
  readonly result?: Variables | null;
  readonly instance?: number | null;
  /** The token that has reached the element. Omitted for rows that no token has reached. */
  readonly token?: TokenId;
}

export const PLAIN: Role = { kind: "plain" };

export function scopeRole(): Role {
  return { kind: "scope", joins: {}, resets: {}, undo: [], interruptedBy: null, waiting: [] };
}

export function addRow(
  state: WorkingState,
  { parent, element, role, variables, result, instance, token }: NewRow,
): Row {
  const row: Row = {
    id: state.nextId,
    parent,
    element,
    location: newLocation(state, element),
    children: 0,
    pending: 0,
    first: 0,
    last: 0,
    previous: 0,
    next: 0,
    variables: variables ?? null,
    result: result ?? null,
    instance: instance ?? null,
    commandCounts: null,
    incident: null,
    role,
  };
  state.nextId += 1;
  state.rows.set(row.id, row);
  const above = state.rows.get(parent);
  if (above !== undefined) link(state, above, row);
  if (token !== undefined) state.observer?.entered?.(row, token);
  return row;
}

function link(state: WorkingState, above: Row, row: Row): void {
  above.children += 1;
  const last = state.rows.get(above.last);
  if (last === undefined) above.first = row.id;
  else last.next = row.id;
  row.previous = above.last;
  above.last = row.id;
}

/** Removes a row without children. Its parent is checked for its end. */
export function removeRow(state: WorkingState, row: Row): void {
  releaseRow(state, row.id);
  state.observer?.removed?.(row);
  state.rows.delete(row.id);
  state.scopesWithJoins.delete(row.id);
  const above = state.rows.get(row.parent);
  if (above === undefined) return;
  above.children -= 1;
  const previous = state.rows.get(row.previous);
  const next = state.rows.get(row.next);
  if (previous === undefined) above.first = row.next;
  else previous.next = row.next;
  if (next === undefined) above.last = row.previous;
  else next.previous = row.previous;
  if (above.children === 0 && above.pending === 0) enqueue(state, { kind: "check", row: above.id });
}

export function* childrenOf(state: WorkingState, row: Row): Generator<Row> {
  for (let id = row.first; id !== 0; ) {
    const child = state.rows.get(id);
    if (child === undefined) return;
    id = child.next;
    yield child;
  }
}

/** Removes a row and everything below it, deepest first. */
export function removeTree(state: WorkingState, row: Row): void {
  const all: Row[] = [row];
  for (let i = 0; i < all.length; i += 1) {
    const each = all[i];
    if (each !== undefined) all.push(...childrenOf(state, each));
  }
  for (const each of all.reverse()) removeRow(state, each);
}

/** Removes everything in a scope: rows, moving tokens, tokens at joins. */
export function clearScope(state: WorkingState, scope: Row): void {
  for (const child of [...childrenOf(state, scope)]) removeTree(state, child);
  state.queue = state.queue.filter((work) => !("scope" in work && work.scope === scope.id));
  scope.pending = 0;
  state.observer?.cleared?.(scope);
  state.scopesWithJoins.delete(scope.id);
  if (scope.role.kind !== "scope") return;
  for (const held of [scope.role.joins, scope.role.resets]) for (const key of Object.keys(held)) delete held[key];
  scope.role.waiting = [];
}

/** The row itself, then its ancestors up to the process. */
export function* selfAndAncestors(state: WorkingState, from: Row): Generator<Row> {
  for (let row: Row | undefined = from; row !== undefined; row = state.rows.get(row.parent)) yield row;
}
