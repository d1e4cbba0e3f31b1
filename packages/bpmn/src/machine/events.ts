import type { EventElement, EventTrigger } from "../model/process.ts";
import { cancelTransaction, startUndoing } from "./compensation.ts";
import type { Row } from "./state.ts";
import { clearScope, removeRow, upward } from "./state-rows.ts";
import { subscribeAll, textOf } from "./subscriptions.ts";
import { publish } from "./tasks.ts";
import { throwError, throwEscalation } from "./throw-events.ts";
import { evaluate, visible } from "./variables.ts";
import { count, issue, type Live, newPlaceOf, push, Stuck } from "./working-state.ts";

/** An event is reached. One whose trigger has come already is left at once; else it is waited for, or brought about. */
export function beginEvent(live: Live, row: Row, event: EventElement): void {
  switch (event.type) {
    case "startEvent":
    case "boundaryEvent":
      push(live, { kind: "leave", row: row.id });
      return;
    case "intermediateCatchEvent": {
      const isThere = row.result !== null || event.triggers.every(({ kind }) => kind === "link");
      if (isThere) push(live, { kind: "leave", row: row.id });
      else subscribeAll(live, row, event);
      return;
    }
    case "intermediateThrowEvent":
    case "endEvent":
      if (event.handler !== null) {
        const place = newPlaceOf(row, "work");
        issue(live, { kind: "work", place, row: row.id });
      } else if (bringAbout(live, row, event)) {
        push(live, { kind: "leave", row: row.id });
      }
  }
}

/** Does all that the event stands for, in the order of the model; false: it does not go on by itself. */
function bringAbout(live: Live, row: Row, event: EventElement): boolean {
  for (const trigger of event.triggers) if (!bring(live, row, event, trigger)) return false;
  return true;
}

function bring(live: Live, row: Row, event: EventElement, trigger: EventTrigger): boolean {
  switch (trigger.kind) {
    case "message":
      publish(live, row, trigger);
      return true;
    case "signal":
      broadcast(live, row, textOf(evaluate(live, row, trigger.name)));
      return true;
    case "error":
      throwFrom(live, row, event, trigger.code ?? "");
      return false;
    case "escalation":
      return escalate(live, row, trigger.code);
    case "link":
      jump(live, row, event, trigger.name);
      return false;
    case "compensation":
      if (trigger.waits) count(live, event.id);
      startUndoing(live, row, trigger);
      return false;
    case "cancel":
      count(live, event.id);
      cancelTransaction(live, row);
      return false;
    case "terminate":
      count(live, event.id);
      terminate(live, row);
      return false;
    case "timer":
    case "conditional":
      throw new Stuck("invalid", `a ${trigger.kind} event can't be thrown; ${event.id} has to catch it`);
  }
}

/** Heard here when all that is on its way has come to rest where it waits, and elsewhere with the commit. */
function broadcast(live: Live, row: Row, name: string): void {
  const variables = visible(live, row);
  push(live, { kind: "signal", name, variables });
  issue(live, { kind: "broadcast", place: newPlaceOf(row, "signal"), name, variables });
}

/** An error that no event catches ends the process; whoever has called it gets it. */
function throwFrom(live: Live, row: Row, event: EventElement, code: string): void {
  const variables = row.result ?? {};
  count(live, event.id);
  if (throwError(live, row, code, variables)) {
    if (live.rows.has(row.id)) removeRow(live, row);
    return;
  }
  const message = `the error ${code} was thrown by ${event.id} and is caught by no event`;
  live.ending = { kind: "failed", code, message, variables };
}

function escalate(live: Live, row: Row, code: string | null): boolean {
  const variables = row.result ?? {};
  const outcome = throwEscalation(live, row, code, variables);
  if (outcome === "uncaught") {
    issue(live, { kind: "escalate", place: newPlaceOf(row, "escalate"), code, variables });
  }
  return outcome !== "interrupted";
}

function jump(live: Live, row: Row, event: EventElement, name: string): void {
  const target = (live.process.scopes.get(event.scope)?.elements ?? []).find((id) => {
    const other = live.process.elements.get(id);
    return (
      other?.type === "intermediateCatchEvent" &&
      other.triggers.some((trigger) => trigger.kind === "link" && trigger.name === name)
    );
  });
  if (target === undefined) throw new Stuck("invalid", `there is no link ${name} in ${event.scope}`);
  count(live, event.id);
  push(live, { kind: "enter", element: target, scope: row.parent, result: {} });
  removeRow(live, row);
}

/** Ends all in the scope of the event, which is over then; the scope that holds it goes on. */
function terminate(live: Live, row: Row): void {
  const [, scope] = [...upward(live, row)];
  if (scope === undefined) return;
  clearScope(live, scope);
  push(live, { kind: "check", row: scope.id });
}
