import {
  type ActivityElement,
  type Element,
  type ElementType,
  isActivity,
  isEvent,
  type Process,
} from "../model/process.ts";
import { completeActivity, type Entry, leave, type StartActivity, startActivity } from "./activities.ts";
import { handleTrigger } from "./catch-events.ts";
import { enterEvent } from "./events.ts";
import { arrive, passGateway } from "./gateways.ts";
import { fireJoin } from "./inclusive-join.ts";
import { handleEvent } from "./incoming-events.ts";
import { callListener } from "./listeners.ts";
import { checkAdHoc, checkRow, startSubProcess } from "./scopes.ts";
import type { AdvanceResult, Command, MachineEvent, RetryPoint, Row, State } from "./state.ts";
import { addRow, PLAIN } from "./state-rows.ts";
import { call, passThrough, receive, script, send, work } from "./tasks.ts";
import { createTask } from "./user-task.ts";
import { isTrue } from "./variables.ts";
import {
  createWorkingState,
  type ElementWork,
  type Environment,
  elementOf,
  enqueue,
  fromState,
  IncidentError,
  type RowWork,
  raiseIncident,
  releaseRow,
  toState,
  type WorkItem,
  type WorkingState,
} from "./working-state.ts";

/** Maximum work items that one event may cause. Stops a process that loops without waiting. */
const WORK_MAX = 1_000_000;

/**
 * Applies one event to a process instance. Pure: the same process, state and event give the same result.
 *
 * `before` is null if the instance has not started.
 */
export function advance(
  process: Process,
  before: State | null,
  event: MachineEvent,
  environment: Environment,
): AdvanceResult {
  const state = before === null ? createWorkingState(process, environment) : fromState(process, environment, before);
  const { commands, cancelled } = applyEvent(state, event);
  return { state: toState(state), commands, cancelled };
}

/** Like `advance`, but changes `state` in place. */
export function applyEvent(state: WorkingState, event: MachineEvent): Omit<AdvanceResult, "state"> {
  state.at = event.at;
  state.raised = [];
  state.hasJoined = false;
  if (event.kind === "sent") state.commands.delete(event.location);
  else if (state.ending === null) {
    handleEvent(state, event);
    drain(state);
    state.endedScopes.clear();
  }
  const commands: readonly Command[] = [...state.issued.values()];
  const { cancelled } = state;
  state.issued = new Map();
  state.cancelled = [];
  return { commands, cancelled };
}

/** One process instance, changed in place: like repeated `advance`, without copying the state for each event. */
export class Instance {
  readonly #state: WorkingState;

  /** `state` is null if the instance has not started. */
  constructor(process: Process, environment: Environment, state: State | null = null) {
    this.#state = state === null ? createWorkingState(process, environment) : fromState(process, environment, state);
  }

  apply(event: MachineEvent): Omit<AdvanceResult, "state"> {
    return applyEvent(this.#state, event);
  }

  /** A copy; later events do not change it. */
  get state(): State {
    return toState(this.#state);
  }
}

/** Performs queued work until none is left. Conditions and inclusive joins are checked whenever the queue is empty. */
function drain(state: WorkingState): void {
  for (let done = 0; state.ending === null; ) {
    for (let i = 0; i < state.queue.length && state.ending === null; i += 1) {
      const work = state.queue[i];
      done += 1;
      if (work !== undefined) {
        const { queue } = state;
        performOrRaiseIncident(state, work);
        // The work removed items from the queue, so the position is searched again.
        if (state.queue !== queue) i = state.queue.indexOf(work);
      }
      if (i > 1_000) i = dropDone(state, i);
      if (done > WORK_MAX) failEndlessLoop(state);
    }
    state.queue = [];
    if (state.ending === null && !triggerMetConditions(state) && !fireJoin(state)) return;
  }
}

/** Drops the performed part of the queue. */
function dropDone(state: WorkingState, i: number): number {
  state.queue = state.queue.slice(i + 1);
  return -1;
}

function failEndlessLoop(state: WorkingState): void {
  const message = `the process loops without waiting: one event caused more than ${WORK_MAX} steps; add a wait to the loop`;
  state.ending = { kind: "failed", code: "", message, variables: {} };
}

/** Performs one work item. An `IncidentError` becomes an incident of its row and affects nothing else. */
function performOrRaiseIncident(state: WorkingState, work: WorkItem): void {
  try {
    perform(state, work);
  } catch (error) {
    if (!(error instanceof IncidentError) || !("row" in work)) throw error;
    const row = state.rows.get(work.row);
    if (row === undefined) return;
    if (work.kind !== "retryWork" && work.kind !== "listen") releaseRow(state, row.id);
    raiseIncident(state, row, { kind: error.kind, message: error.message, retryFrom: retryPointOf(work.kind) });
  }
}

function retryPointOf(kind: WorkItem["kind"]): RetryPoint {
  if (kind === "retryWork" || kind === "listen") return "work";
  return kind === "complete" || kind === "leave" ? kind : "start";
}

function perform(state: WorkingState, work: WorkItem): void {
  switch (work.kind) {
    case "flow":
    case "enter":
      moveToken(state, work);
      return;
    case "trigger": {
      const subscription = state.subscriptions.get(work.location);
      if (subscription !== undefined) handleTrigger(state, subscription, work.variables);
      return;
    }
    case "signal":
      for (const location of [...(state.signals.get(work.name) ?? [])]) {
        enqueue(state, { kind: "trigger", location, variables: work.variables });
      }
      return;
    case "start":
    case "retryWork":
    case "complete":
    case "leave":
    case "listen":
    case "check":
      performOnRow(state, work);
  }
}

function moveToken(state: WorkingState, work: Extract<WorkItem, { kind: "flow" | "enter" }>): void {
  const scope = state.rows.get(work.scope);
  if (scope === undefined) return;
  scope.pending -= 1;
  if (work.kind === "flow") {
    arrive(state, work.flow, scope, work.token);
  } else {
    const { element, result, token, instance = null, variables = null } = work;
    const row = addRow(state, { parent: scope.id, element, role: PLAIN, result, instance, variables, token });
    enqueue(state, { kind: "start", row: row.id });
  }
  if (scope.children === 0 && scope.pending === 0) enqueue(state, { kind: "check", row: scope.id });
}

function performOnRow(state: WorkingState, work: RowWork): void {
  const row = state.rows.get(work.row);
  if (row === undefined || row.incident !== null) return;
  if (work.kind === "check") {
    checkRow(state, row);
    return;
  }
  const element = elementOf(state, row);
  if (element !== null) performOnElement(state, row, element, work);
}

function performOnElement(state: WorkingState, row: Row, element: Element, work: ElementWork): void {
  switch (work.kind) {
    case "start":
      BEHAVIORS[element.type](state, row, element, "first");
      return;
    case "retryWork":
      BEHAVIORS[element.type](state, row, element, "again");
      return;
    case "listen":
      if (!callListener(state, row, "before", work.from)) BEHAVIORS[element.type](state, row, element, "listened");
      return;
    case "complete":
      // The listeners of a loop belong to its instances.
      if (row.role.kind !== "loop" && callListener(state, row, "after", work.from ?? 0)) return;
      completeActivity(state, row);
      if (isActivity(element)) checkAdHoc(state, state.rows.get(row.parent));
      return;
    case "leave":
      if (isEvent(element) && callListener(state, row, "after", work.from ?? 0)) return;
      leave(state, row);
  }
}

/** Triggers conditional events whose condition became true since variables changed. */
function triggerMetConditions(state: WorkingState): boolean {
  if (!state.variablesChanged) return false;
  state.variablesChanged = false;
  let found = false;
  for (const location of state.conditions) {
    const subscription = state.subscriptions.get(location);
    const row = state.rows.get(subscription?.row ?? 0);
    if (subscription?.trigger.kind !== "conditional" || row === undefined) continue;
    const before = subscription.wasTrue;
    subscription.wasTrue = isMet(state, row, subscription.trigger.condition);
    if (before || !subscription.wasTrue) continue;
    enqueue(state, { kind: "trigger", location, variables: {} });
    found = true;
  }
  return found;
}

/** A condition whose evaluation fails counts as not met. */
function isMet(...args: Parameters<typeof isTrue>): boolean {
  try {
    return isTrue(...args);
  } catch (error) {
    if (error instanceof IncidentError) return false;
    throw error;
  }
}

type Behavior = (state: WorkingState, row: Row, element: Element, entry: Entry) => void;

const event: Behavior = (state, row, element, entry) => {
  if (entry === "first" && callListener(state, row, "before", 0)) return;
  if (isEvent(element)) enterEvent(state, row, element);
};

const gateway: Behavior = (state, row, element, entry) => {
  if (entry === "first" && callListener(state, row, "before", 0)) return;
  if ("activation" in element) passGateway(state, row, element);
};

const activity =
  (start: StartActivity): Behavior =>
  (state, row, element, entry) => {
    if (isActivity(element)) startActivity(state, row, element as ActivityElement, start, entry);
  };

/** How each type of element is executed when a token arrives. */
const BEHAVIORS: Readonly<Record<ElementType, Behavior>> = {
  startEvent: event,
  intermediateCatchEvent: event,
  intermediateThrowEvent: event,
  endEvent: event,
  boundaryEvent: event,
  task: activity(passThrough),
  manualTask: activity(passThrough),
  userTask: activity(createTask),
  serviceTask: activity(work),
  scriptTask: activity(script),
  businessRuleTask: activity(work),
  sendTask: activity(send),
  receiveTask: activity(receive),
  callActivity: activity(call),
  subProcess: activity(startSubProcess),
  eventSubProcess: activity(startSubProcess),
  transaction: activity(startSubProcess),
  adHocSubProcess: activity(startSubProcess),
  exclusiveGateway: gateway,
  parallelGateway: gateway,
  inclusiveGateway: gateway,
  complexGateway: gateway,
  eventBasedGateway: gateway,
};
