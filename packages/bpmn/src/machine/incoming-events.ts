import { isActivity, type Process } from "../model/process.ts";
import { endListener } from "./listeners.ts";
import { applyAction } from "./operator-actions.ts";
import { enterStarts, openScope } from "./scopes.ts";
import type { Command, MachineEvent, Row } from "./state.ts";
import { addRow, scopeRole } from "./state-rows.ts";
import { resubscribe } from "./subscriptions.ts";
import { isRecord, resultOf } from "./tasks.ts";
import { throwError, throwEscalation, throwFailure } from "./throw-events.ts";
import { handleOverdue } from "./user-task.ts";
import {
  elementOf,
  enqueue,
  ROOT,
  raiseIncident,
  releaseRow,
  spawnToken,
  unsubscribe,
  type WorkingState,
} from "./working-state.ts";

/** Converts an event into queued work. An event that nothing waits for any more is skipped. */
export function handleEvent(state: WorkingState, event: MachineEvent): void {
  switch (event.kind) {
    case "started":
      start(state, event);
      return;
    case "completed":
      handleCompletion(state, event);
      return;
    case "ownSignal":
      ignoreSignal(state, event.location);
      return;
    case "sent":
      return;
    case "failed":
    case "threw":
      handleFailure(state, event);
      return;
    case "escalated":
      handleEscalation(state, event);
      return;
    default:
      applyAction(state, event);
  }
}

function start(state: WorkingState, { variables, startedBy }: Extract<MachineEvent, { kind: "started" }>): void {
  const { process } = state;
  const root = addRow(state, { parent: 0, element: process.id, role: scopeRole(), variables: { ...variables } });
  openScope(state, root, process.id);
  if (startedBy === null) {
    enterStarts(state, root, defaultStarts(process));
  } else {
    const { element, variables: result } = startedBy;
    enqueue(state, { kind: "enter", element, scope: root.id, result, token: spawnToken(state, root) });
    enterStarts(state, root, otherGatewayTargets(process, element));
  }
  if (root.pending === 0) enqueue(state, { kind: "check", row: ROOT });
}

/** The first start event of the model, because an instance starts at one. Without start events, every start element. */
function defaultStarts({ scopes, elements, id }: Process): readonly string[] {
  const starts = scopes.get(id)?.starts ?? [];
  return elements.get(starts[0] ?? "")?.type === "startEvent" ? starts.slice(0, 1) : starts;
}

/** The other events after a gateway whose first event started the instance. */
function otherGatewayTargets(process: Process, starter: string): readonly string[] {
  const flow = process.flows.get(process.elements.get(starter)?.incoming[0] ?? "");
  const gateway = process.elements.get(flow?.source ?? "");
  if (gateway?.type !== "eventBasedGateway" || gateway.instantiates !== "each") return [];
  return gateway.outgoing.map((id) => process.flows.get(id)?.target ?? "").filter((target) => target !== starter);
}

function handleCompletion(state: WorkingState, event: Extract<MachineEvent, { kind: "completed" }>): void {
  const { location, value } = event;
  const command = state.commands.get(location);
  if (command === undefined) return;
  state.commands.delete(location);
  state.observer?.closed?.(command, "completed");
  if (command.kind === "due") {
    state.owned.get(command.row)?.delete(location);
    handleOverdue(state, command);
    return;
  }
  const row = rowOf(state, command);
  if (row === null) {
    enqueue(state, { kind: "trigger", location, variables: event.variables });
    return;
  }
  state.owned.get(row.id)?.delete(location);
  if (command.kind === "listener") {
    endListener(state, row, command, isRecord(value) ? value : {});
    return;
  }
  const element = elementOf(state, row);
  if (element !== null && isActivity(element)) {
    row.result = command.kind === "work" ? resultOf(element, value) : isRecord(value) ? value : {};
    enqueue(state, { kind: "complete", row: row.id });
  } else {
    row.result = isRecord(value) ? value : {};
    enqueue(state, { kind: "leave", row: row.id });
  }
}

/** The row that issued a command. Null if the command belongs to a subscription. */
function rowOf(state: WorkingState, command: Command): Row | null {
  return "row" in command ? (state.rows.get(command.row) ?? null) : null;
}

/** Waits again: the wait ended by a signal that this instance sent, or that was sent before it waited. */
function ignoreSignal(state: WorkingState, location: string): void {
  const subscription = state.subscriptions.get(location);
  state.commands.delete(location);
  const row = state.rows.get(subscription?.row ?? 0);
  const element = state.process.elements.get(subscription?.element ?? "");
  if (subscription === undefined || row === undefined || element === undefined) return;
  unsubscribe(state, location);
  resubscribe(state, row, element, subscription);
}

/** Handles a handler that failed finally (`failed`) or threw a BPMN error (`threw`). */
function handleFailure(state: WorkingState, event: Extract<MachineEvent, { kind: "failed" | "threw" }>): void {
  const command = state.commands.get(event.location);
  const row = command === undefined ? null : rowOf(state, command);
  if (command === undefined || row === null) return;
  state.commands.delete(event.location);
  state.owned.get(row.id)?.delete(event.location);
  state.observer?.failed?.(row, { code: event.kind === "threw" ? event.code : null, message: event.message });
  const failed = command.kind === "listener" ? { listener: { index: command.index, listener: command.listener } } : {};
  if (event.kind === "failed") {
    // A missing handler is a mistake of the deployment, which no model can correct.
    if (event.reason !== "noHandler" && throwFailure(state, row, event.message)) return;
    raiseIncident(state, row, { kind: event.reason, message: event.message, retryFrom: "work", ...failed });
    return;
  }
  if (throwError(state, row, event)) return;
  const message = `${row.element} threw error ${event.code}, and no event catches it: ${event.message}`;
  if (state.environment.isCalled) {
    state.ending = { kind: "failed", code: event.code, message, variables: event.variables };
    return;
  }
  raiseIncident(state, row, { kind: "uncaughtError", message, retryFrom: "work", ...failed });
}

function handleEscalation(state: WorkingState, event: Extract<MachineEvent, { kind: "escalated" }>): void {
  const command = state.commands.get(event.location);
  const row = command === undefined ? null : rowOf(state, command);
  if (row === null) return;
  const outcome = throwEscalation(state, row, event.code, event.variables);
  if (outcome === "interrupted") releaseRow(state, row.id);
}
