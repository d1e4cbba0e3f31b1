import { isActivity, isSubProcess, type SubProcessElement } from "../model/process.ts";
import type { Begin } from "./activities.ts";
import { undoNext } from "./compensation.ts";
import type { Role, Row } from "./state.ts";
import { clearScope, removeRow, scopeRole } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { startOf } from "./throw-events.ts";
import { evaluate, isTrue } from "./variables.ts";
import { count, elementOf, type Live, push, ROOT, Stuck } from "./working-state.ts";

/** A sub-process begins: its data, its event sub-processes, then its own beginning. */
export const beginSubProcess: Begin = (live, row, element) => {
  if (!isSubProcess(element)) return;
  row.role = scopeRole();
  row.variables ??= {};
  openScope(live, row, element.id);
  if (element.type === "eventSubProcess") {
    for (const start of startOf(live, element.id)) {
      push(live, { kind: "enter", element: start.id, scope: row.id, result: row.result ?? {} });
    }
    row.result = null;
  } else if (element.adHoc === null) {
    enterStarts(live, row, live.process.scopes.get(element.id)?.starts ?? []);
  } else {
    beginAdHoc(live, row, element, element.adHoc);
  }
  if (row.pending === 0) push(live, { kind: "check", row: row.id });
};

/** Its data, and what may begin inside it at any time. */
export function openScope(live: Live, row: Row, scope: string): void {
  const graph = live.process.scopes.get(scope);
  for (const name of graph?.data ?? []) {
    row.variables ??= {};
    if (!Object.hasOwn(row.variables, name)) row.variables[name] = null;
  }
  for (const id of graph?.eventSubProcesses ?? []) {
    for (const start of startOf(live, id)) subscribeAll(live, row, start);
  }
}

export function enterStarts(live: Live, row: Row, starts: readonly string[]): void {
  for (const element of starts) push(live, { kind: "enter", element, scope: row.id, result: null });
}

function beginAdHoc(
  live: Live,
  row: Row,
  element: SubProcessElement,
  { active, sequential }: NonNullable<SubProcessElement["adHoc"]>,
): void {
  const all = live.process.scopes.get(element.id)?.starts ?? [];
  const chosen = active === null ? all : evaluate(live, row, active);
  if (!Array.isArray(chosen) || chosen.some((id) => !all.includes(id))) {
    throw new Stuck("invalid", `what is to begin in ${element.id} has to be a list of elements that no flow leads to`);
  }
  if (!sequential || row.role.kind !== "scope") {
    enterStarts(live, row, chosen);
    return;
  }
  row.role.waiting = chosen.slice(1);
  enterStarts(live, row, chosen.slice(0, 1));
}

/** After each element of an ad-hoc sub-process: is that enough? */
export function checkAdHoc(live: Live, row: Row | undefined): void {
  if (row?.role.kind !== "scope") return;
  const element = elementOf(live, row);
  if (element === null || !isSubProcess(element) || element.adHoc === null || element.adHoc.completion === null) return;
  if (!isTrue(live, row, element.adHoc.completion)) return;
  row.role.waiting = [];
  if (!element.adHoc.cancelsRemaining) return;
  clearScope(live, row);
  push(live, { kind: "check", row: row.id });
}

/** Looks whether nothing is left in a scope: then it is over. Tokens at joins are something. */
export function checkRow(live: Live, row: Row): void {
  if (row.children > 0 || row.pending > 0) return;
  if (row.role.kind === "undoing") undoNext(live, row, row.role);
  if (row.role.kind === "scope" && isEmpty(row.role)) endScope(live, row, row.role);
}

function isEmpty({ joins }: Extract<Role, { kind: "scope" }>): boolean {
  return Object.keys(joins).length === 0;
}

function endScope(live: Live, row: Row, role: Extract<Role, { kind: "scope" }>): void {
  const [next, ...rest] = role.waiting;
  if (next !== undefined) {
    role.waiting = rest;
    enterStarts(live, row, [next]);
    return;
  }
  if (row.id === ROOT) {
    live.ending = { kind: "completed", variables: row.variables ?? {} };
    return;
  }
  const element = elementOf(live, row);
  if (element?.type === "eventSubProcess") {
    count(live, element.id);
    removeRow(live, row);
  } else if (element !== null && isActivity(element) && !live.over.has(row.id)) {
    live.over.add(row.id);
    push(live, { kind: "complete", row: row.id });
  }
}
