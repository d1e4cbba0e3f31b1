import type { Element, Expression, Process } from "../model/process.ts";
import type { Command, Ending, Row, RowCommand, State, Subscription, Variables } from "./state.ts";

/** What the machine needs of the world: pure, so that the same state and event give the same. */
export interface Environment {
  evaluate(expression: Expression, variables: Variables): unknown;
  /** Another run waits for the end of this one: an error that nobody here catches is its. */
  readonly isCalled: boolean;
}

/** What is left to do until the instance rests: first in, first out. */
export type WorkItem =
  /** A token on a flow. */
  | { readonly kind: "flow"; readonly flow: string; readonly scope: number }
  /** A token comes to an element; `result`: its trigger has come already, with these variables. */
  | {
      readonly kind: "enter";
      readonly element: string;
      readonly scope: number;
      readonly result: Variables | null;
      readonly instance?: number;
      readonly variables?: Record<string, unknown>;
    }
  /** `again`: the work of an activity that has begun already. */
  | { readonly kind: "start" | "retryWork" | "complete" | "leave"; readonly row: number }
  /** Looks whether a scope is over, or what is to be undone next. */
  | { readonly kind: "check"; readonly row: number }
  | { readonly kind: "trigger"; readonly location: string; readonly variables: Variables }
  | { readonly kind: "signal"; readonly name: string; readonly variables: Variables };

/** A state that is being changed. Beside the state it has indexes, all of which follow from it. */
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
  /** Asked for since the kernel was last told, by location; and open before, but not needed any more. */
  issued: Map<string, Command>;
  cancelled: string[];
  /** Places of subscriptions and commands by the row that they belong to. */
  readonly owned: Map<number, Set<string>>;
  readonly conditions: Set<string>;
  readonly signals: Map<string, Set<string>>;
  /** Scopes with tokens at inclusive or complex joins. */
  readonly scopesWithJoins: Set<number>;
  /** Scopes that were found to be over since the instance last rested: each is once, however often it is looked at. */
  readonly endedScopes: Set<number>;
  variablesChanged: boolean;
}

export const ROOT = 1;

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
    owned: new Map(),
    conditions: new Set(),
    signals: new Map(),
    scopesWithJoins: new Set(),
    endedScopes: new Set(),
    variablesChanged: false,
  };
}

/** A copy of a state, to be changed. */
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

/** A copy of the state. */
export function toState(state: WorkingState): State {
  return structuredClone(stateOf(state));
}

/** The state as it is, for those who write it down before anything else happens. */
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

/** A name that nothing else in this run has, for the journal. */
export function newLocation(state: WorkingState, name: string): string {
  const countCompletion = (state.locationCounts.get(name) ?? 0) + 1;
  state.locationCounts.set(name, countCompletion);
  return countCompletion === 1 ? name : `${name}#${countCompletion}`;
}

/** What a row asks the kernel for is named after the row; when that is gone, nothing has to be remembered of it. */
export function newRowLocation(row: Row, what: RowCommand): string {
  const count = (row.commandCounts?.[what] ?? 0) + 1;
  row.commandCounts = { ...row.commandCounts, [what]: count };
  return `${row.location}/${what}${count === 1 ? "" : `#${count}`}`;
}

export function enqueue(state: WorkingState, work: WorkItem): void {
  state.queue.push(work);
  if (work.kind !== "flow" && work.kind !== "enter") return;
  const scope = state.rows.get(work.scope);
  if (scope !== undefined) scope.pending += 1;
}

/** Asks the kernel for something. */
export function issue(state: WorkingState, command: Command): void {
  state.commands.set(command.location, command);
  state.issued.set(command.location, command);
  if ("row" in command) addOwned(state, command.row, command.location);
}

/** What was asked for is not needed any more. If nobody has heard of it yet, nobody will. */
function cancelCommand(state: WorkingState, location: string): void {
  if (!state.commands.delete(location)) return;
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

/** Ends a subscription, and what the kernel was asked for it. */
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

/** Ends all that a row waits for and has asked for. */
export function releaseRow(state: WorkingState, row: number): void {
  const locations = state.owned.get(row);
  if (locations === undefined) return;
  for (const location of [...locations]) {
    unsubscribe(state, location);
    cancelCommand(state, location);
  }
  state.owned.delete(row);
}

export function elementOf(state: WorkingState, row: Row): Element | null {
  return state.process.elements.get(row.element) ?? null;
}

/** An element has completed once more. */
export function count(state: WorkingState, element: string): void {
  state.completed.set(element, (state.completed.get(element) ?? 0) + 1);
}

/** An element can't go on: what it was at is stopped, and somebody has to look. */
export class IncidentError extends Error {
  readonly kind: "noFlow" | "expression" | "invalid";

  constructor(kind: IncidentError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
