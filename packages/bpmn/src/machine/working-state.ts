import type { Element, Expression, Process } from "../model/process.ts";
import type { Observer, TokenId } from "./observer.ts";
import type { Command, Ending, Incident, Row, RowCommand, State, Subscription, Variables } from "./state.ts";

/** Inputs of the token machine besides state and event. Must be pure: the machine is replayed. */
export interface Environment {
  evaluate(expression: Expression, variables: Variables, now?: number): unknown;
  /** A call activity of another run started this one. An uncaught BPMN error then fails this run and is thrown in the caller. */
  readonly isCalled: boolean;
}

/** Queued work of the current event, FIFO. */
export type WorkItem =
  | { readonly kind: "flow"; readonly flow: string; readonly scope: number; readonly token: TokenId }
  /** A token arrives at an element. `result` is set if its trigger already occurred. */
  | {
      readonly kind: "enter";
      readonly element: string;
      readonly scope: number;
      readonly result: Variables | null;
      readonly token: TokenId;
      readonly instance?: number;
      readonly variables?: Record<string, unknown>;
    }
  | RowWork
  | { readonly kind: "trigger"; readonly location: string; readonly variables: Variables }
  | { readonly kind: "signal"; readonly name: string; readonly variables: Variables };

/** Queued work on a row. */
export type RowWork =
  | ElementWork
  /** Checks whether a scope has ended, or compensates the next activity. */
  | { readonly kind: "check"; readonly row: number };

/** Queued work on an active element. */
export type ElementWork =
  /** `retryWork` executes a started activity again. */
  | { readonly kind: "start" | "retryWork"; readonly row: number }
  /** Ends an element, after its listeners from the position `from` on. */
  | { readonly kind: "complete" | "leave"; readonly row: number; readonly from?: number }
  /** Starts an element whose listeners before the position `from` were called. */
  | { readonly kind: "listen"; readonly row: number; readonly from: number };

/** A state while an event is applied, with indexes that are derived from it. */
export interface WorkingState {
  readonly process: Process;
  readonly environment: Environment;
  readonly rows: Map<number, Row>;
  readonly subscriptions: Map<string, Subscription>;
  readonly commands: Map<string, Command>;
  readonly locationCounts: Map<string, number>;
  readonly completed: Map<string, number>;
  nextId: number;
  ending: Ending | null;
  at: number;
  queue: WorkItem[];
  /** New commands by location, and locations of open commands that are no longer needed. Both since the last event. */
  issued: Map<string, Command>;
  cancelled: string[];
  /** Rows that got an incident since the last event. */
  raised: Row[];
  /** Locations of subscriptions and commands, by row. */
  readonly owned: Map<number, Set<string>>;
  readonly conditions: Set<string>;
  readonly signals: Map<string, Set<string>>;
  /** Scopes with tokens at inclusive or complex joins. */
  readonly scopesWithJoins: Set<number>;
  /** Scopes that ended during this event. Each is completed once, even if it is checked repeatedly. */
  readonly endedScopes: Set<number>;
  variablesChanged: boolean;
  /** Whether a join has fired since the last event. */
  hasJoined: boolean;
  /** Null if nobody observes the instance. */
  observer: Observer | null;
}

export const ROOT = 1;

const NONE: Variables = {};

export function createWorkingState(process: Process, environment: Environment): WorkingState {
  return {
    process,
    environment,
    rows: new Map(),
    subscriptions: new Map(),
    commands: new Map(),
    locationCounts: new Map(),
    completed: new Map(),
    nextId: ROOT,
    ending: null,
    at: 0,
    queue: [],
    issued: new Map(),
    cancelled: [],
    raised: [],
    owned: new Map(),
    conditions: new Set(),
    signals: new Map(),
    scopesWithJoins: new Set(),
    endedScopes: new Set(),
    variablesChanged: false,
    hasJoined: false,
    observer: null,
  };
}

/** A working copy of a stored state. */
export function fromState(process: Process, environment: Environment, stored: State): WorkingState {
  const state = createWorkingState(process, environment);
  const copy = structuredClone(stored);
  for (const row of copy.rows) {
    state.rows.set(row.id, row);
    if (row.role.kind === "scope" && hasJoinTokens(row.role)) state.scopesWithJoins.add(row.id);
  }
  for (const subscription of copy.subscriptions) addSubscription(state, subscription);
  for (const command of copy.commands) {
    state.commands.set(command.location, command);
    if ("row" in command) addOwned(state, command.row, command.location);
  }
  for (const [name, count] of Object.entries(copy.locationCounts)) state.locationCounts.set(name, count);
  for (const [id, count] of Object.entries(copy.completed)) state.completed.set(id, count);
  state.nextId = copy.nextId;
  state.ending = copy.ending;
  return state;
}

/** A copy of the state, for callers that keep it. */
export function toState(state: WorkingState): State {
  return structuredClone(stateOf(state));
}

/** The state without a copy. Valid until the next event. */
export function stateOf(state: WorkingState): State {
  return {
    rows: [...state.rows.values()],
    subscriptions: [...state.subscriptions.values()],
    commands: [...state.commands.values()],
    locationCounts: Object.fromEntries(state.locationCounts),
    completed: Object.fromEntries(state.completed),
    nextId: state.nextId,
    ending: state.ending,
  };
}

function hasJoinTokens({ joins, resets }: { joins: object; resets: object }): boolean {
  return Object.keys(joins).length > 0 || Object.keys(resets).length > 0;
}

/** A location that is unique in the run. */
export function newLocation(state: WorkingState, name: string): string {
  const uses = (state.locationCounts.get(name) ?? 0) + 1;
  state.locationCounts.set(name, uses);
  return uses === 1 ? name : `${name}#${uses}`;
}

/** A location below the row's. The row counts them, so that nothing remains when the row is gone. */
export function newRowLocation(row: Row, command: RowCommand): string {
  const count = (row.commandCounts?.[command] ?? 0) + 1;
  row.commandCounts = { ...row.commandCounts, [command]: count };
  return `${row.location}/${command}${count === 1 ? "" : `#${count}`}`;
}

export function enqueue(state: WorkingState, work: WorkItem): void {
  state.queue.push(work);
  if (work.kind !== "flow" && work.kind !== "enter") return;
  const scope = state.rows.get(work.scope);
  if (scope !== undefined) scope.pending += 1;
}

export function issue(state: WorkingState, command: Command): void {
  state.commands.set(command.location, command);
  state.issued.set(command.location, command);
  if ("row" in command) addOwned(state, command.row, command.location);
  state.observer?.issued?.(command);
}

/** Cancels a command. A command that the kernel has not received yet is dropped. */
function cancelCommand(state: WorkingState, location: string): void {
  const command = state.commands.get(location);
  if (command === undefined) return;
  state.commands.delete(location);
  state.observer?.closed?.(command, "cancelled");
  if (!state.issued.delete(location)) state.cancelled.push(location);
}

export function addSubscription(state: WorkingState, subscription: Subscription): void {
  const { location, row, trigger, name } = subscription;
  state.subscriptions.set(location, subscription);
  addOwned(state, row, location);
  if (trigger.kind === "conditional") state.conditions.add(location);
  if (trigger.kind === "signal" && name !== null) {
    const locations = state.signals.get(name);
    if (locations === undefined) state.signals.set(name, new Set([location]));
    else locations.add(location);
  }
}

/** Ends a subscription and cancels its command. */
export function unsubscribe(state: WorkingState, location: string): void {
  const subscription = state.subscriptions.get(location);
  if (subscription === undefined) return;
  state.subscriptions.delete(location);
  state.owned.get(subscription.row)?.delete(location);
  state.conditions.delete(location);
  if (subscription.name !== null) {
    const locations = state.signals.get(subscription.name);
    locations?.delete(location);
    if (locations?.size === 0) state.signals.delete(subscription.name);
  }
  cancelCommand(state, location);
}

function addOwned(state: WorkingState, row: number, location: string): void {
  const locations = state.owned.get(row);
  if (locations === undefined) state.owned.set(row, new Set([location]));
  else locations.add(location);
}

/** Ends all subscriptions and cancels all commands of a row. */
export function releaseRow(state: WorkingState, row: number): void {
  const locations = state.owned.get(row);
  if (locations === undefined) return;
  for (const location of [...locations]) {
    unsubscribe(state, location);
    cancelCommand(state, location);
  }
  state.owned.delete(row);
}

export function spawnToken({ observer }: WorkingState, from: Row): TokenId {
  return observer?.spawned?.(from) ?? 0;
}

export function moveToken({ observer }: WorkingState, from: Row): TokenId {
  return observer?.moved?.(from) ?? 0;
}

export function elementOf(state: WorkingState, row: Row): Element | null {
  return state.process.elements.get(row.element) ?? null;
}

export function countCompletion(state: WorkingState, row: Row, output: Variables = NONE): void {
  state.completed.set(row.element, (state.completed.get(row.element) ?? 0) + 1);
  state.observer?.completed?.(row, output);
}

export function raiseIncident(state: WorkingState, row: Row, incident: Omit<Incident, "at">): void {
  row.incident = { ...incident, at: state.at };
  state.raised.push(row);
  state.observer?.raised?.(row);
}

/** Thrown when an element cannot continue. Becomes an incident of its row. */
export class IncidentError extends Error {
  readonly kind: "noFlow" | "expression" | "invalid";

  constructor(kind: IncidentError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
