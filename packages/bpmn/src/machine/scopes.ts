import { isActivity, isSubProcess, type SubProcessElement } from "../model/process.ts";
import type { StartActivity } from "./activities.ts";
import { compensateNext } from "./compensation.ts";
import type { Role, Row } from "./state.ts";
import { clearScope, removeRow, scopeRole } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { startEventsOf } from "./throw-events.ts";
import { evaluate, isTrue } from "./variables.ts";
import {
  countCompletion,
  elementOf,
  enqueue,
  IncidentError,
  ROOT,
  spawnToken,
  type WorkingState,
} from "./working-state.ts";

/** Starts a sub-process: its data, its event sub-processes, then its start elements. */
export const startSubProcess: StartActivity = (state, row, element) => {
  if (!isSubProcess(element)) return;
  row.role = scopeRole();
  row.variables ??= {};
  openScope(state, row, element.id);
  if (element.type === "eventSubProcess") {
    for (const start of startEventsOf(state, element.id)) {
      const token = spawnToken(state, row);
      enqueue(state, { kind: "enter", element: start.id, scope: row.id, result: row.result ?? {}, token });
    }
    row.result = null;
  } else if (element.adHoc === null) {
    enterStarts(state, row, state.process.scopes.get(element.id)?.starts ?? []);
  } else {
    startAdHoc(state, row, element, element.adHoc);
  }
  if (row.pending === 0) enqueue(state, { kind: "check", row: row.id });
};

/** Initializes the data of a scope and subscribes its event sub-processes. */
export function openScope(state: WorkingState, row: Row, scope: string): void {
  const graph = state.process.scopes.get(scope);
  for (const name of graph?.data ?? []) {
    row.variables ??= {};
    if (!Object.hasOwn(row.variables, name)) row.variables[name] = null;
  }
  for (const id of graph?.eventSubProcesses ?? []) {
    for (const start of startEventsOf(state, id)) subscribeAll(state, row, start);
  }
}

export function enterStarts(state: WorkingState, row: Row, starts: readonly string[]): void {
  for (const element of starts) {
    enqueue(state, { kind: "enter", element, scope: row.id, result: null, token: spawnToken(state, row) });
  }
}

function startAdHoc(
  state: WorkingState,
  row: Row,
  element: SubProcessElement,
  { active, sequential }: NonNullable<SubProcessElement["adHoc"]>,
): void {
  const all = state.process.scopes.get(element.id)?.starts ?? [];
  const chosen = active === null ? all : evaluate(state, row, active);
  if (!Array.isArray(chosen) || chosen.some((id) => !all.includes(id))) {
    throw new IncidentError(
      "invalid",
      `the active elements of ${element.id} must be a list of its elements without incoming flows`,
    );
  }
  if (!sequential || row.role.kind !== "scope") {
    enterStarts(state, row, chosen);
    return;
  }
  row.role.waiting = chosen.slice(1);
  enterStarts(state, row, chosen.slice(0, 1));
}

/** Checks the completion condition of an ad-hoc sub-process after each of its elements. */
export function checkAdHoc(state: WorkingState, row: Row | undefined): void {
  if (row?.role.kind !== "scope") return;
  const element = elementOf(state, row);
  if (element === null || !isSubProcess(element) || element.adHoc === null || element.adHoc.completion === null) return;
  if (!isTrue(state, row, element.adHoc.completion)) return;
  row.role.waiting = [];
  if (!element.adHoc.cancelsRemaining) return;
  clearScope(state, row);
  enqueue(state, { kind: "check", row: row.id });
}

/** Ends a scope in which nothing is left. Tokens at joins keep it open. */
export function checkRow(state: WorkingState, row: Row): void {
  if (row.children > 0 || row.pending > 0) return;
  if (row.role.kind === "undoing") compensateNext(state, row, row.role);
  if (row.role.kind === "scope" && isEmpty(row.role)) endScope(state, row, row.role);
}

function isEmpty({ joins }: Extract<Role, { kind: "scope" }>): boolean {
  return Object.keys(joins).length === 0;
}

function endScope(state: WorkingState, row: Row, role: Extract<Role, { kind: "scope" }>): void {
  const [next, ...rest] = role.waiting;
  if (next !== undefined) {
    role.waiting = rest;
    enterStarts(state, row, [next]);
    return;
  }
  if (row.id === ROOT) {
    state.ending = { kind: "completed", variables: row.variables ?? {} };
    return;
  }
  const element = elementOf(state, row);
  if (element?.type === "eventSubProcess") {
    countCompletion(state, row);
    removeRow(state, row);
  } else if (element !== null && isActivity(element) && !state.endedScopes.has(row.id)) {
    state.endedScopes.add(row.id);
    enqueue(state, { kind: "complete", row: row.id });
  }
}
