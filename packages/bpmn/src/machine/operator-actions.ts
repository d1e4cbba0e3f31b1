import { isActivity } from "../model/process.ts";
import type { Act, Row } from "./state.ts";
import { removeTree, upward } from "./state-rows.ts";
import { assign, assignLocal } from "./variables.ts";
import { elementOf, type Live, push, ROOT } from "./working-state.ts";

/** Does what an operator asks for; what does not apply changes nothing. */
export function act(live: Live, event: Act): void {
  switch (event.kind) {
    case "setVariables":
      setVariables(live, event.row, event.variables);
      return;
    case "retry":
      withRow(live, event.row, (row) => retry(live, row));
      return;
    case "skip":
      withRow(live, event.row, (row) => skip(live, row, event.variables));
      return;
    case "cancelToken":
      withRow(live, event.row, (row) => removeTree(live, row));
      return;
    case "moveToken":
      withRow(live, event.row, (row) => {
        if (sendTo(live, scopeFor(live, row, event.to), event.to)) removeTree(live, row);
      });
      return;
    case "addToken":
      assign(live, live.rows.get(ROOT), event.variables);
      sendTo(live, live.rows.get(ROOT) ?? null, event.to);
  }
}

function withRow(live: Live, id: number, does: (row: Row) => void): void {
  const row = live.rows.get(id);
  if (row !== undefined && row.id !== ROOT) does(row);
}

function setVariables(live: Live, id: number | null, variables: Readonly<Record<string, unknown>>): void {
  const row = live.rows.get(id ?? ROOT);
  if (row === undefined) return;
  for (const [name, value] of Object.entries(variables)) assignLocal(live, row, name, value);
}

function retry(live: Live, row: Row): void {
  if (row.incident === null) return;
  const { again } = row.incident;
  row.incident = null;
  push(live, { kind: again === "work" ? "again" : again, row: row.id });
}

/** As if the element had done its part. */
function skip(live: Live, row: Row, variables: Readonly<Record<string, unknown>>): void {
  const element = elementOf(live, row);
  if (element === null) return;
  row.incident = null;
  row.result = variables;
  if (isActivity(element)) push(live, { kind: "complete", row: row.id });
  else if ("activation" in element) push(live, { kind: "begin", row: row.id });
  else push(live, { kind: "leave", row: row.id });
}

/** The scope instance, from the row's outward, in which the element lies. */
function scopeFor(live: Live, row: Row, to: string): Row | null {
  const scope = live.process.elements.get(to)?.scope;
  for (const above of upward(live, row)) {
    const id = above.id === ROOT ? live.process.id : above.element;
    if (above.role.kind === "scope" && id === scope) return above;
  }
  return null;
}

function sendTo(live: Live, scope: Row | null, to: string): boolean {
  const element = live.process.elements.get(to);
  if (scope === null || element === undefined) return false;
  push(live, { kind: "enter", element: to, scope: scope.id, result: null });
  return true;
}
