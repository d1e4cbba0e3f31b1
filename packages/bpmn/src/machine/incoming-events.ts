import { isActivity, type Process } from "../model/process.ts";
import { act } from "./operator-actions.ts";
import { enterStarts, openScope } from "./scopes.ts";
import type { Command, MachineEvent, Row } from "./state.ts";
import { addRow, scopeRole } from "./state-rows.ts";
import { subscribeAgain } from "./subscriptions.ts";
import { isRecord, resultOf } from "./tasks.ts";
import { throwError, throwEscalation } from "./throw-events.ts";
import { overdue } from "./user-task.ts";
import { elementOf, type Live, push, ROOT, release, unsubscribe } from "./working-state.ts";

/** Puts what has happened into the queue. What nobody waits for any more is passed over. */
export function takeEvent(live: Live, event: MachineEvent): void {
  switch (event.kind) {
    case "started":
      start(live, event);
      return;
    case "completed":
      completed(live, event);
      return;
    case "echoed":
      echoed(live, event.place);
      return;
    case "told":
      return;
    case "failed":
    case "threw":
      wentWrong(live, event);
      return;
    case "escalated":
      escalated(live, event);
      return;
    default:
      act(live, event);
  }
}

function start(live: Live, { variables, startedBy }: Extract<MachineEvent, { kind: "started" }>): void {
  const { process } = live;
  const root = addRow(live, { parent: 0, element: process.id, role: scopeRole(), variables: { ...variables } });
  openScope(live, root, process.id);
  if (startedBy === null) {
    enterStarts(live, root, process.scopes.get(process.id)?.starts ?? []);
  } else {
    push(live, { kind: "enter", element: startedBy.element, scope: root.id, result: startedBy.variables });
    for (const element of besides(process, startedBy.element)) {
      push(live, { kind: "enter", element, scope: root.id, result: null });
    }
  }
  if (root.pending === 0) push(live, { kind: "check", row: ROOT });
}

/** What is waited for too when one of the events after a gateway has begun the instance. */
function besides(process: Process, begun: string): readonly string[] {
  const flow = process.flows.get(process.elements.get(begun)?.incoming[0] ?? "");
  const gateway = process.elements.get(flow?.source ?? "");
  if (gateway?.type !== "eventBasedGateway" || gateway.begins !== "each") return [];
  return gateway.outgoing.map((id) => process.flows.get(id)?.target ?? "").filter((target) => target !== begun);
}

function completed(live: Live, event: Extract<MachineEvent, { kind: "completed" }>): void {
  const { place, value } = event;
  const command = live.commands.get(place);
  if (command === undefined) return;
  live.commands.delete(place);
  if (command.kind === "due") {
    live.owned.get(command.row)?.delete(place);
    overdue(live, command);
    return;
  }
  const row = rowOf(live, command);
  if (row === null) {
    push(live, { kind: "trigger", place, variables: event.variables });
    return;
  }
  live.owned.get(row.id)?.delete(place);
  const element = elementOf(live, row);
  if (element !== null && isActivity(element)) {
    row.result = command.kind === "work" ? resultOf(element, value) : isRecord(value) ? value : {};
    push(live, { kind: "complete", row: row.id });
  } else {
    row.result = isRecord(value) ? value : {};
    push(live, { kind: "leave", row: row.id });
  }
}

/** The row that a command was issued for; null: it belongs to a subscription. */
function rowOf(live: Live, command: Command): Row | null {
  return "row" in command ? (live.rows.get(command.row) ?? null) : null;
}

/** The kernel's wait was ended by what the instance itself has sent: it waits again. */
function echoed(live: Live, place: string): void {
  const subscription = live.subscriptions.get(place);
  live.commands.delete(place);
  const row = live.rows.get(subscription?.row ?? 0);
  const element = live.process.elements.get(subscription?.element ?? "");
  if (subscription === undefined || row === undefined || element === undefined) return;
  unsubscribe(live, place);
  subscribeAgain(live, row, element, subscription);
}

/** A handler has failed for good, or has thrown an error of the model. The two are never confused. */
function wentWrong(live: Live, event: Extract<MachineEvent, { kind: "failed" | "threw" }>): void {
  const command = live.commands.get(event.place);
  const row = command === undefined ? null : rowOf(live, command);
  if (command === undefined || row === null) return;
  live.commands.delete(event.place);
  live.owned.get(row.id)?.delete(event.place);
  if (event.kind === "failed") {
    row.incident = { kind: event.reason, message: event.message, at: event.at, again: "work" };
    return;
  }
  if (throwError(live, row, event.code, event.variables)) return;
  const message = `${row.element} threw the error ${event.code}, which no event catches: ${event.message}`;
  if (live.environment.isCalled) {
    live.ending = { kind: "failed", code: event.code, message, variables: event.variables };
    return;
  }
  row.incident = { kind: "uncaughtError", message, at: event.at, again: "work" };
}

function escalated(live: Live, event: Extract<MachineEvent, { kind: "escalated" }>): void {
  const command = live.commands.get(event.place);
  const row = command === undefined ? null : rowOf(live, command);
  if (row === null) return;
  const outcome = throwEscalation(live, row, event.code, event.variables);
  if (outcome === "interrupted") release(live, row.id);
}
