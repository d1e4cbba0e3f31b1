import type { EventElement, EventTrigger } from "../model/process.ts";
import { cancelTransaction, startCompensation } from "./compensation.ts";
import type { Row } from "./state.ts";
import { clearScope, removeRow, selfAndAncestors } from "./state-rows.ts";
import { subscribeAll, textOf } from "./subscriptions.ts";
import { publish } from "./tasks.ts";
import { throwError, throwEscalation } from "./throw-events.ts";
import { evaluate, visibleVariables } from "./variables.ts";
import { count, enqueue, IncidentError, issue, newRowLocation, type WorkingState } from "./working-state.ts";

/** An event is reached. One whose trigger has come already is left at once; else it is waited for, or brought about. */
export function enterEvent(state: WorkingState, row: Row, event: EventElement): void {
  switch (event.type) {
    case "startEvent":
    case "boundaryEvent":
      enqueue(state, { kind: "leave", row: row.id });
      return;
    case "intermediateCatchEvent": {
      const isThere = row.result !== null || event.triggers.every(({ kind }) => kind === "link");
      if (isThere) enqueue(state, { kind: "leave", row: row.id });
      else subscribeAll(state, row, event);
      return;
    }
    case "intermediateThrowEvent":
    case "endEvent":
      if (event.handler !== null) {
        const location = newRowLocation(row, "work");
        issue(state, { kind: "work", location, row: row.id });
      } else if (throwAll(state, row, event)) {
        enqueue(state, { kind: "leave", row: row.id });
      }
  }
}

/** Does all that the event stands for, in the order of the model; false: it does not go on by itself. */
function throwAll(state: WorkingState, row: Row, event: EventElement): boolean {
  for (const trigger of event.triggers) if (!throwTrigger(state, row, event, trigger)) return false;
  return true;
}

function throwTrigger(state: WorkingState, row: Row, event: EventElement, trigger: EventTrigger): boolean {
  switch (trigger.kind) {
    case "message":
      publish(state, row, trigger);
      return true;
    case "signal":
      broadcast(state, row, textOf(evaluate(state, row, trigger.name)));
      return true;
    case "error":
      throwErrorFrom(state, row, event, trigger.code ?? "");
      return false;
    case "escalation":
      return escalate(state, row, trigger.code);
    case "link":
      followLink(state, row, event, trigger.name);
      return false;
    case "compensation":
      if (trigger.waits) count(state, event.id);
      startCompensation(state, row, trigger);
      return false;
    case "cancel":
      count(state, event.id);
      cancelTransaction(state, row);
      return false;
    case "terminate":
      count(state, event.id);
      terminate(state, row);
      return false;
    case "timer":
    case "conditional":
      throw new IncidentError("invalid", `${event.id} cannot throw a ${trigger.kind} event; make it a catching event`);
  }
}

/** Heard here when all that is on its way has come to rest where it waits, and elsewhere with the commit. */
function broadcast(state: WorkingState, row: Row, name: string): void {
  const variables = visibleVariables(state, row);
  enqueue(state, { kind: "signal", name, variables });
  issue(state, { kind: "broadcast", location: newRowLocation(row, "signal"), name, variables });
}

/** An error that no event catches ends the process; whoever has called it gets it. */
function throwErrorFrom(state: WorkingState, row: Row, event: EventElement, code: string): void {
  const variables = row.result ?? {};
  count(state, event.id);
  if (throwError(state, row, code, variables)) {
    if (state.rows.has(row.id)) removeRow(state, row);
    return;
  }
  const message = `${event.id} threw error ${code}, and no event catches it`;
  state.ending = { kind: "failed", code, message, variables };
}

function escalate(state: WorkingState, row: Row, code: string | null): boolean {
  const variables = row.result ?? {};
  const outcome = throwEscalation(state, row, code, variables);
  if (outcome === "uncaught") {
    issue(state, { kind: "escalate", location: newRowLocation(row, "escalate"), code, variables });
  }
  return outcome !== "interrupted";
}

function followLink(state: WorkingState, row: Row, event: EventElement, name: string): void {
  const target = (state.process.scopes.get(event.scope)?.elements ?? []).find((id) => {
    const other = state.process.elements.get(id);
    return (
      other?.type === "intermediateCatchEvent" &&
      other.triggers.some((trigger) => trigger.kind === "link" && trigger.name === name)
    );
  });
  if (target === undefined)
    throw new IncidentError("invalid", `${event.id}: link "${name}" not found in ${event.scope}`);
  count(state, event.id);
  enqueue(state, { kind: "enter", element: target, scope: row.parent, result: {} });
  removeRow(state, row);
}

/** Ends all in the scope of the event, which is over then; the scope that holds it goes on. */
function terminate(state: WorkingState, row: Row): void {
  const [, scope] = [...selfAndAncestors(state, row)];
  if (scope === undefined) return;
  clearScope(state, scope);
  enqueue(state, { kind: "check", row: scope.id });
}
