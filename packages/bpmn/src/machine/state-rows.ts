import type { Role, Row, Variables } from "./state.ts";
import { type Live, newPlace, push, release } from "./working-state.ts";

export interface NewRow {
  readonly parent: number;
  readonly element: string;
  readonly role: Role;
  readonly variables?: Record<string, unknown> | null;
  readonly result?: Variables | null;
  readonly instance?: number | null;
}

export const PLAIN: Role = { kind: "plain" };

export function scopeRole(): Role {
  return { kind: "scope", joins: {}, resets: {}, undo: [], interruptedBy: null, waiting: [] };
}

export function addRow(live: Live, { parent, element, role, variables, result, instance }: NewRow): Row {
  const row: Row = {
    id: live.nextId,
    parent,
    element,
    place: newPlace(live, element),
    children: 0,
    pending: 0,
    first: 0,
    last: 0,
    previous: 0,
    next: 0,
    variables: variables ?? null,
    result: result ?? null,
    instance: instance ?? null,
    asked: null,
    incident: null,
    role,
  };
  live.nextId += 1;
  live.rows.set(row.id, row);
  const above = live.rows.get(parent);
  if (above !== undefined) link(live, above, row);
  return row;
}

function link(live: Live, above: Row, row: Row): void {
  above.children += 1;
  const last = live.rows.get(above.last);
  if (last === undefined) above.first = row.id;
  else last.next = row.id;
  row.previous = above.last;
  above.last = row.id;
}

/** Removes a row that has nothing below it. Whoever holds it looks whether it is over. */
export function removeRow(live: Live, row: Row): void {
  release(live, row.id);
  live.rows.delete(row.id);
  live.joining.delete(row.id);
  const above = live.rows.get(row.parent);
  if (above === undefined) return;
  above.children -= 1;
  const previous = live.rows.get(row.previous);
  const next = live.rows.get(row.next);
  if (previous === undefined) above.first = row.next;
  else previous.next = row.next;
  if (next === undefined) above.last = row.previous;
  else next.previous = row.previous;
  if (above.children === 0 && above.pending === 0) push(live, { kind: "check", row: above.id });
}

export function* childrenOf(live: Live, row: Row): Generator<Row> {
  for (let id = row.first; id !== 0; ) {
    const child = live.rows.get(id);
    if (child === undefined) return;
    id = child.next;
    yield child;
  }
}

/** Removes a row and all below it, the deepest first. */
export function removeTree(live: Live, row: Row): void {
  const all: Row[] = [row];
  for (let i = 0; i < all.length; i += 1) {
    const each = all[i];
    if (each !== undefined) all.push(...childrenOf(live, each));
  }
  for (const each of all.reverse()) removeRow(live, each);
}

/** Removes all that lies in a scope: rows, tokens on their way, tokens at joins. */
export function clearScope(live: Live, scope: Row): void {
  for (const child of [...childrenOf(live, scope)]) removeTree(live, child);
  live.queue = live.queue.filter((work) => !("scope" in work && work.scope === scope.id));
  scope.pending = 0;
  live.joining.delete(scope.id);
  if (scope.role.kind !== "scope") return;
  for (const held of [scope.role.joins, scope.role.resets]) for (const key of Object.keys(held)) delete held[key];
  scope.role.waiting = [];
}

/** The rows from one up to the process. */
export function* upward(live: Live, from: Row): Generator<Row> {
  for (let row: Row | undefined = from; row !== undefined; row = live.rows.get(row.parent)) yield row;
}
