import type { Element, Expression, Process } from "../model/process.ts";
import type { Command, Ending, OfRow, Row, State, Subscription, Variables } from "./state.ts";

/** What the machine needs of the world: pure, so that the same state and event give the same. */
export interface Environment {
  evaluate(expression: Expression, variables: Variables): unknown;
  /** Another run waits for the end of this one: an error that nobody here catches is its. */
  readonly isCalled: boolean;
}

/** What is left to do until the instance rests: first in, first out. */
export type Work =
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
  | { readonly kind: "begin" | "again" | "complete" | "leave"; readonly row: number }
  /** Looks whether a scope is over, or what is to be undone next. */
  | { readonly kind: "check"; readonly row: number }
  | { readonly kind: "trigger"; readonly place: string; readonly variables: Variables }
  | { readonly kind: "signal"; readonly name: string; readonly variables: Variables };

/** A state that is being changed. Beside the state it has indexes, all of which follow from it. */
export interface Live {
  readonly process: Process;
  readonly environment: Environment;
  readonly rows: Map<number, Row>;
  readonly subscriptions: Map<string, Subscription>;
  readonly commands: Map<string, Command>;
  readonly places: Map<string, number>;
  readonly completed: Map<string, number>;
  nextId: number;
  ending: Ending | null;
  at: number;
  queue: Work[];
  /** Asked for since the kernel was last told, by place; and open before, but not needed any more. */
  issued: Map<string, Command>;
  withdrawn: string[];
  /** Places of subscriptions and commands by the row that they belong to. */
  readonly owned: Map<number, Set<string>>;
  readonly conditions: Set<string>;
  readonly signals: Map<string, Set<string>>;
  /** Scopes with tokens at inclusive or complex joins. */
  readonly joining: Set<number>;
  /** Scopes that were found to be over since the instance last rested: each is once, however often it is looked at. */
  readonly over: Set<number>;
  variablesChanged: boolean;
}

export const ROOT = 1;

export function createLive(process: Process, environment: Environment): Live {
  return {
    process,
    environment,
    rows: new Map(),
    subscriptions: new Map(),
    commands: new Map(),
    places: new Map(),
    completed: new Map(),
    nextId: ROOT,
    ending: null,
    at: 0,
    queue: [],
    issued: new Map(),
    withdrawn: [],
    owned: new Map(),
    conditions: new Set(),
    signals: new Map(),
    joining: new Set(),
    over: new Set(),
    variablesChanged: false,
  };
}

/** A copy of a state, to be changed. */
export function thaw(process: Process, environment: Environment, state: State): Live {
  const live = createLive(process, environment);
  const copy = structuredClone(state);
  for (const row of copy.rows) {
    live.rows.set(row.id, row);
    if (row.role.kind === "scope" && holdsTokens(row.role)) live.joining.add(row.id);
  }
  for (const subscription of copy.subscriptions) index(live, subscription);
  for (const command of copy.commands) {
    live.commands.set(command.place, command);
    if ("row" in command) own(live, command.row, command.place);
  }
  for (const [name, count] of Object.entries(copy.places)) live.places.set(name, count);
  for (const [id, count] of Object.entries(copy.completed)) live.completed.set(id, count);
  live.nextId = copy.nextId;
  live.ending = copy.ending;
  return live;
}

/** A copy of the state. */
export function freeze(live: Live): State {
  return structuredClone(stateOf(live));
}

/** The state as it is, for those who write it down before anything else happens. */
export function stateOf(live: Live): State {
  return {
    rows: [...live.rows.values()],
    subscriptions: [...live.subscriptions.values()],
    commands: [...live.commands.values()],
    places: Object.fromEntries(live.places),
    completed: Object.fromEntries(live.completed),
    nextId: live.nextId,
    ending: live.ending,
  };
}

function holdsTokens({ joins, resets }: { joins: object; resets: object }): boolean {
  return Object.keys(joins).length > 0 || Object.keys(resets).length > 0;
}

/** A name that nothing else in this run has, for the journal. */
export function newPlace(live: Live, name: string): string {
  const count = (live.places.get(name) ?? 0) + 1;
  live.places.set(name, count);
  return count === 1 ? name : `${name}#${count}`;
}

/** What a row asks the kernel for is named after the row; when that is gone, nothing has to be remembered of it. */
export function newPlaceOf(row: Row, what: OfRow): string {
  const count = (row.asked?.[what] ?? 0) + 1;
  row.asked = { ...row.asked, [what]: count };
  return `${row.place}/${what}${count === 1 ? "" : `#${count}`}`;
}

export function push(live: Live, work: Work): void {
  live.queue.push(work);
  if (work.kind !== "flow" && work.kind !== "enter") return;
  const scope = live.rows.get(work.scope);
  if (scope !== undefined) scope.pending += 1;
}

/** Asks the kernel for something. */
export function issue(live: Live, command: Command): void {
  live.commands.set(command.place, command);
  live.issued.set(command.place, command);
  if ("row" in command) own(live, command.row, command.place);
}

/** What was asked for is not needed any more. If nobody has heard of it yet, nobody will. */
export function withdraw(live: Live, place: string): void {
  if (!live.commands.delete(place)) return;
  if (!live.issued.delete(place)) live.withdrawn.push(place);
}

export function index(live: Live, subscription: Subscription): void {
  const { place, row, trigger, name } = subscription;
  live.subscriptions.set(place, subscription);
  own(live, row, place);
  if (trigger.kind === "conditional") live.conditions.add(place);
  if (trigger.kind === "signal" && name !== null) {
    const places = live.signals.get(name);
    if (places === undefined) live.signals.set(name, new Set([place]));
    else places.add(place);
  }
}

/** Ends a subscription, and what the kernel was asked for it. */
export function unsubscribe(live: Live, place: string): void {
  const subscription = live.subscriptions.get(place);
  if (subscription === undefined) return;
  live.subscriptions.delete(place);
  live.owned.get(subscription.row)?.delete(place);
  live.conditions.delete(place);
  if (subscription.name !== null) {
    const places = live.signals.get(subscription.name);
    places?.delete(place);
    if (places?.size === 0) live.signals.delete(subscription.name);
  }
  withdraw(live, place);
}

function own(live: Live, row: number, place: string): void {
  const places = live.owned.get(row);
  if (places === undefined) live.owned.set(row, new Set([place]));
  else places.add(place);
}

/** Ends all that a row waits for and has asked for. */
export function release(live: Live, row: number): void {
  const places = live.owned.get(row);
  if (places === undefined) return;
  for (const place of [...places]) {
    unsubscribe(live, place);
    withdraw(live, place);
  }
  live.owned.delete(row);
}

export function elementOf(live: Live, row: Row): Element | null {
  return live.process.elements.get(row.element) ?? null;
}

/** An element has completed once more. */
export function count(live: Live, element: string): void {
  live.completed.set(element, (live.completed.get(element) ?? 0) + 1);
}

/** An element can't go on: what it was at is stopped, and somebody has to look. */
export class Stuck extends Error {
  readonly kind: "noFlow" | "expression" | "invalid";

  constructor(kind: Stuck["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
