import type { EventElement, EventTrigger } from "../model/process.ts";
import { cancelTransaction, startCompensation } from "./compensation.ts";
import type { Row } from "./state.ts";
import { clearScope, removeRow, selfAndAncestors } from "./state-rows.ts";
import { computedText, subscribeAll } from "./subscriptions.ts";
import { publish } from "./tasks.ts";
import { codeOf, throwError, throwEscalation } from "./throw-events.ts";
import { visibleVariables } from "./variables.ts";
import {
  countCompletion,
  enqueue,
  IncidentError,
  issue,
  moveToken,
  newRowLocation,
  type WorkingState,
} from "./working-state.ts";

/** Enters an event. An event whose trigger already occurred is left at once; other events subscribe, or throw. */
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

/** Throws all triggers of the event, in the order of the model. False if the token does not continue by itself. */
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
      broadcast(state, row, trigger.name.isStatic ? trigger.name.text : computedText(state, row, trigger.name));
      return true;
    case "error":
      throwErrorFrom(state, row, event, trigger);
      return false;
    case "escalation":
      return escalate(state, row, codeOf(state, row, trigger));
    case "link":
      followLink(state, row, event, trigger.name);
      return false;
    case "compensation":
      startCompensation(state, row, trigger);
      return false;
    case "cancel":
      countCompletion(state, row);
      cancelTransaction(state, row);
      return false;
    case "terminate":
      countCompletion(state, row);
      terminate(state, row);
      return false;
    case "timer":
    case "conditional":
      throw new IncidentError("invalid", `${event.id} cannot throw a ${trigger.kind} event; make it a catching event`);
  }
}

/** Sends a signal. Waits of this instance receive it through the queue; other runs receive it with the commit. */
function broadcast(state: WorkingState, row: Row, name: string): void {
  const variables = visibleVariables(state, row);
  enqueue(state, { kind: "signal", name, variables });
  issue(state, { kind: "broadcast", location: newRowLocation(row, "signal"), name, variables });
}

/** Throws an error. An uncaught error fails the process, and the calling run gets it. */
function throwErrorFrom(
  state: WorkingState,
  row: Row,
  event: EventElement,
  trigger: Extract<EventTrigger, { kind: "error" }>,
): void {
  const code = codeOf(state, row, trigger) ?? "";
  const text = trigger.message === undefined ? null : computedText(state, row, trigger.message);
  const variables = row.result ?? {};
  countCompletion(state, row);
  if (throwError(state, row, { code, message: text, variables })) {
    if (state.rows.has(row.id)) removeRow(state, row);
    return;
  }
  const message = text ?? `${event.id} threw error ${code}, and no event catches it`;
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
  countCompletion(state, row);
  enqueue(state, { kind: "enter", element: target, scope: row.parent, result: {}, token: moveToken(state, row) });
  removeRow(state, row);
}

/** Removes everything in the scope of the event and ends that scope. The enclosing scope continues. */
function terminate(state: WorkingState, row: Row): void {
  const [, scope] = [...selfAndAncestors(state, row)];
  if (scope === undefined) return;
  clearScope(state, scope);
  enqueue(state, { kind: "check", row: scope.id });
}
