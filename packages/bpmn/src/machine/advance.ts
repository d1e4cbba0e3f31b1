import {
  type ActivityElement,
  type Element,
  type ElementType,
  isActivity,
  isEvent,
  type Process,
} from "../model/process.ts";
import { type Begin, beginActivity, completeActivity, type Edges, leave } from "./activities.ts";
import { triggered } from "./catch-events.ts";
import { beginEvent } from "./events.ts";
import { arrive, beginGateway } from "./gateways.ts";
import { fireJoin } from "./inclusive-join.ts";
import { takeEvent } from "./incoming-events.ts";
import { beginSubProcess, checkAdHoc, checkRow } from "./scopes.ts";
import type { Advanced, Again, Command, MachineEvent, Row, State } from "./state.ts";
import { addRow, PLAIN } from "./state-rows.ts";
import { call, passThrough, receive, script, send, work } from "./tasks.ts";
import { task } from "./user-task.ts";
import { isTrue } from "./variables.ts";
import {
  createLive,
  type Environment,
  elementOf,
  freeze,
  type Live,
  push,
  release,
  Stuck,
  thaw,
  type Work,
} from "./working-state.ts";

/** How much one event may set going: a model that turns in a circle without ever waiting is stopped. */
const WORK_MAX = 1_000_000;

/**
 * The token machine: pure. The same process, state and event give the same state and commands. `state` null is an instance
 * that has not begun.
 */
export function advance(
  process: Process,
  state: State | null,
  event: MachineEvent,
  environment: Environment,
): Advanced {
  const live = state === null ? createLive(process, environment) : thaw(process, environment, state);
  const { commands, withdrawn } = take(live, event);
  return { state: freeze(live), commands, withdrawn };
}

/** As `advance`, on a state that is the caller's own to change. */
export function take(live: Live, event: MachineEvent): Omit<Advanced, "state"> {
  live.at = event.at;
  if (event.kind === "told") live.commands.delete(event.place);
  else if (live.ending === null) {
    takeEvent(live, event);
    drain(live);
    live.over.clear();
  }
  const commands: readonly Command[] = [...live.issued.values()];
  const { withdrawn } = live;
  live.issued = new Map();
  live.withdrawn = [];
  return { commands, withdrawn };
}

/** Until nothing is left to do. Conditions and inclusive joins are looked at when all else rests. */
function drain(live: Live): void {
  for (let done = 0; live.ending === null; ) {
    for (let i = 0; i < live.queue.length && live.ending === null; i += 1) {
      const work = live.queue[i];
      done += 1;
      if (work !== undefined) {
        const { queue } = live;
        attempt(live, work);
        // What was dropped from the queue is dropped from what has not been done yet.
        if (live.queue !== queue) i = live.queue.indexOf(work);
      }
      if (i > 1_000) i = shift(live, i);
      if (done > WORK_MAX) endless(live);
    }
    live.queue = [];
    if (live.ending === null && !lookAtConditions(live) && !fireJoin(live)) return;
  }
}

/** Forgets the part of the queue that is done. */
function shift(live: Live, i: number): number {
  live.queue = live.queue.slice(i + 1);
  return -1;
}

function endless(live: Live): void {
  const message = `the process does ${WORK_MAX} things and comes to no rest: it turns in a circle without waiting`;
  live.ending = { kind: "failed", code: "", message, variables: {} };
}

/** What can't be done becomes an incident of its element, and harms nothing else. */
function attempt(live: Live, work: Work): void {
  try {
    perform(live, work);
  } catch (error) {
    if (!(error instanceof Stuck) || !("row" in work)) throw error;
    const row = live.rows.get(work.row);
    if (row === undefined) return;
    if (work.kind !== "again") release(live, row.id);
    row.incident = { kind: error.kind, message: error.message, at: live.at, again: againOf(work.kind) };
  }
}

function againOf(kind: Work["kind"]): Again {
  if (kind === "again") return "work";
  return kind === "complete" || kind === "leave" ? kind : "begin";
}

function perform(live: Live, work: Work): void {
  switch (work.kind) {
    case "flow":
    case "enter":
      travel(live, work);
      return;
    case "trigger": {
      const subscription = live.subscriptions.get(work.place);
      if (subscription !== undefined) triggered(live, subscription, work.variables);
      return;
    }
    case "signal":
      for (const place of [...(live.signals.get(work.name) ?? [])]) {
        push(live, { kind: "trigger", place, variables: work.variables });
      }
      return;
    case "begin":
    case "again":
    case "complete":
    case "leave":
    case "check":
      onRow(live, work.kind, work.row);
  }
}

function travel(live: Live, work: Extract<Work, { kind: "flow" | "enter" }>): void {
  const scope = live.rows.get(work.scope);
  if (scope === undefined) return;
  scope.pending -= 1;
  if (work.kind === "flow") {
    arrive(live, work.flow, scope);
  } else {
    const { element, result, instance = null, variables = null } = work;
    const row = addRow(live, { parent: scope.id, element, role: PLAIN, result, instance, variables });
    push(live, { kind: "begin", row: row.id });
  }
  if (scope.children === 0 && scope.pending === 0) push(live, { kind: "check", row: scope.id });
}

function onRow(live: Live, kind: "begin" | "again" | "complete" | "leave" | "check", id: number): void {
  const row = live.rows.get(id);
  if (row === undefined || row.incident !== null) return;
  if (kind === "check") {
    checkRow(live, row);
    return;
  }
  const element = elementOf(live, row);
  if (element === null) return;
  if (kind === "begin" || kind === "again") {
    BEHAVIORS[element.type](live, row, element, kind === "begin" ? "closed" : "open");
  } else if (kind === "complete") {
    completeActivity(live, row);
    if (isActivity(element)) checkAdHoc(live, live.rows.get(row.parent));
  } else {
    leave(live, row);
  }
}

/** Conditions that have become true since variables changed. */
function lookAtConditions(live: Live): boolean {
  if (!live.variablesChanged) return false;
  live.variablesChanged = false;
  let found = false;
  for (const place of live.conditions) {
    const subscription = live.subscriptions.get(place);
    const row = live.rows.get(subscription?.row ?? 0);
    if (subscription?.trigger.kind !== "conditional" || row === undefined) continue;
    const before = subscription.wasTrue;
    subscription.wasTrue = isMet(live, row, subscription.trigger.condition);
    if (before || !subscription.wasTrue) continue;
    push(live, { kind: "trigger", place, variables: {} });
    found = true;
  }
  return found;
}

/** A condition that can't be computed is not met. */
function isMet(...args: Parameters<typeof isTrue>): boolean {
  try {
    return isTrue(...args);
  } catch (error) {
    if (error instanceof Stuck) return false;
    throw error;
  }
}

/** One instance that is changed in place: as `advance` from event to event, without a copy of its state for each. */
export class Instance {
  readonly #live: Live;

  /** `state` null: it has not begun. */
  constructor(process: Process, environment: Environment, state: State | null = null) {
    this.#live = state === null ? createLive(process, environment) : thaw(process, environment, state);
  }

  take(event: MachineEvent): Omit<Advanced, "state"> {
    return take(this.#live, event);
  }

  /** A copy: what happens afterwards does not change it. */
  get state(): State {
    return freeze(this.#live);
  }
}

type Behavior = (live: Live, row: Row, element: Element, edges: Edges) => void;

const event: Behavior = (live, row, element) => {
  if (isEvent(element)) beginEvent(live, row, element);
};

const gateway: Behavior = (live, row, element) => {
  if ("activation" in element) beginGateway(live, row, element);
};

const activity =
  (begin: Begin): Behavior =>
  (live, row, element, edges) => {
    if (isActivity(element)) beginActivity(live, row, element as ActivityElement, begin, edges);
  };

/** What each type of element does when a token has come to it. */
export const BEHAVIORS: Readonly<Record<ElementType, Behavior>> = {
  startEvent: event,
  intermediateCatchEvent: event,
  intermediateThrowEvent: event,
  endEvent: event,
  boundaryEvent: event,
  task: activity(passThrough),
  manualTask: activity(passThrough),
  userTask: activity(task),
  serviceTask: activity(work),
  scriptTask: activity(script),
  businessRuleTask: activity(work),
  sendTask: activity(send),
  receiveTask: activity(receive),
  callActivity: activity(call),
  subProcess: activity(beginSubProcess),
  eventSubProcess: activity(beginSubProcess),
  transaction: activity(beginSubProcess),
  adHocSubProcess: activity(beginSubProcess),
  exclusiveGateway: gateway,
  parallelGateway: gateway,
  inclusiveGateway: gateway,
  complexGateway: gateway,
  eventBasedGateway: gateway,
};
