import { isActivity } from "../model/process.ts";
import { resumeAt } from "./listeners.ts";
import type { TokenId } from "./observer.ts";
import type { OperatorAction, Row } from "./state.ts";
import { removeTree, selfAndAncestors } from "./state-rows.ts";
import { assign, assignLocal } from "./variables.ts";
import { elementOf, enqueue, moveToken, ROOT, spawnToken, type WorkingState } from "./working-state.ts";

/** Applies an operator action. An action that does not apply changes nothing. */
export function applyAction(state: WorkingState, event: OperatorAction): void {
  switch (event.kind) {
    case "setVariables":
      setVariables(state, event.row, event.variables);
      return;
    case "retry":
      withRow(state, event.row, (row) => retry(state, row));
      return;
    case "skip":
      withRow(state, event.row, (row) => skip(state, row, event.variables));
      return;
    case "cancelToken":
      withRow(state, event.row, (row) => removeTree(state, row));
      return;
    case "moveToken":
      withRow(state, event.row, (row) => {
        if (enterElement(state, scopeFor(state, row, event.to), event.to, () => moveToken(state, row)))
          removeTree(state, row);
      });
      return;
    case "addToken":
      assign(state, state.rows.get(ROOT), event.variables);
      enterElement(state, state.rows.get(ROOT) ?? null, event.to, (scope) => spawnToken(state, scope));
      return;
    case "snapshot":
      // The program stores the state, and the record of the action is the name.
      return;
  }
}

function withRow(state: WorkingState, id: number, does: (row: Row) => void): void {
  const row = state.rows.get(id);
  if (row !== undefined && row.id !== ROOT) does(row);
}

function setVariables(state: WorkingState, id: number | null, variables: Readonly<Record<string, unknown>>): void {
  const row = state.rows.get(id ?? ROOT);
  if (row === undefined) return;
  for (const [name, value] of Object.entries(variables)) assignLocal(state, row, name, value);
}

function retry(state: WorkingState, row: Row): void {
  if (row.incident === null) return;
  const { retryFrom, listener } = row.incident;
  row.incident = null;
  state.observer?.resolved?.(row);
  if (listener !== undefined) {
    resumeAt(state, row, listener.listener, listener.index);
    return;
  }
  enqueue(state, { kind: retryFrom === "work" ? "retryWork" : retryFrom, row: row.id });
}

/** Completes the element without executing it, and without calling its listeners. */
function skip(state: WorkingState, row: Row, variables: Readonly<Record<string, unknown>>): void {
  const element = elementOf(state, row);
  if (element === null) return;
  state.observer?.skipped?.(row);
  if (row.incident !== null) state.observer?.resolved?.(row);
  row.incident = null;
  row.result = variables;
  const from = element.listeners?.length ?? 0;
  if (isActivity(element)) enqueue(state, { kind: "complete", row: row.id, from });
  else if ("activation" in element) enqueue(state, { kind: "listen", row: row.id, from });
  else enqueue(state, { kind: "leave", row: row.id, from });
}

/** The nearest enclosing scope row that contains the element `to`. */
function scopeFor(state: WorkingState, row: Row, to: string): Row | null {
  const scope = state.process.elements.get(to)?.scope;
  for (const above of selfAndAncestors(state, row)) {
    const id = above.id === ROOT ? state.process.id : above.element;
    if (above.role.kind === "scope" && id === scope) return above;
  }
  return null;
}

function enterElement(state: WorkingState, scope: Row | null, to: string, tokenIn: (scope: Row) => TokenId): boolean {
  const element = state.process.elements.get(to);
  if (scope === null || element === undefined) return false;
  enqueue(state, { kind: "enter", element: to, scope: scope.id, result: null, token: tokenIn(scope) });
  return true;
}
