import { isDeepStrictEqual } from "node:util";
import {
  type Command,
  type Environment,
  evaluateExpression,
  type Instance,
  type MachineEvent,
  type Process,
  readBpmn,
  type State,
} from "@pawl/bpmn";
import { Chance } from "pawl-test-shared/chance";
import { ERRORS, ESCALATIONS, type Scope, VARIABLES } from "./block.ts";
import { documentOf } from "./document.ts";
import { listed, type OpenNode, type OpenRow, openInMachine, openInOracle } from "./observe.ts";
import { createOracle, settle } from "./oracle.ts";
import type { OracleState } from "./oracle-state.ts";
import { splitAgain, workDone } from "./structure.ts";
import { fire, raise } from "./triggers.ts";

export type Machine = typeof Instance;

export interface Driven {
  /** The difference between machine and oracle. Null if there is none. */
  readonly flaw: string | null;
  /** The events so far, in order. */
  readonly trace: readonly string[];
}

type UndatedEvent = MachineEvent extends infer Event ? (Event extends MachineEvent ? Omit<Event, "at"> : never) : never;

const ENVIRONMENT: Environment = { evaluate: evaluateExpression, isCalled: false };
const START_AT = 1_000_000;
const STEPS_MAX = 60;

/**
 * Executes one process on the machine and in the oracle, and compares them after each event. The machine executes what `converted`
 * makes of the document.
 */
export async function drive(
  scope: Scope,
  machine: Machine,
  seed: number,
  converted: (document: string) => Promise<string> = async (document) => document,
): Promise<Driven> {
  const [process] = await readBpmn(await converted(documentOf(scope)));
  if (process === undefined) throw new Error("the document contains no process");
  const trace: string[] = [];
  try {
    new Drive(scope, process, machine, new Chance(seed), trace).run();
    return { flaw: null, trace };
  } catch (error) {
    return { flaw: error instanceof Disagreement ? error.message : String((error as Error).stack), trace };
  }
}

class Disagreement extends Error {}

class Drive {
  readonly #process: Process;
  readonly #machine: Machine;
  readonly #chance: Chance;
  readonly #trace: string[];
  readonly #oracle: OracleState;
  readonly #live: Instance;
  /** The state at the last comparison. */
  #state: State;
  /** The open commands, by location. */
  readonly #ledger = new Map<string, Command>();
  readonly #starts = new Map<string, number>();
  readonly #stale: string[] = [];
  #kept: State | null = null;
  #journal: MachineEvent[] = [];
  #at = START_AT;

  constructor(scope: Scope, process: Process, machine: Machine, chance: Chance, trace: string[]) {
    this.#process = process;
    this.#machine = machine;
    this.#chance = chance;
    this.#trace = trace;
    this.#live = new machine(process, ENVIRONMENT);
    const variables = Object.fromEntries(VARIABLES.map((name) => [name, chance.between(0, 3)]));
    trace.push(`start ${JSON.stringify(variables)}`);
    this.#apply({ kind: "started", variables, startedBy: null });
    this.#state = this.#live.state;
    this.#oracle = createOracle(scope, variables, START_AT);
  }

  run(): void {
    this.#compare();
    for (let step = 0; step < STEPS_MAX && this.#oracle.ending === null; step += 1) {
      const open = openInOracle(this.#oracle).filter(({ kind }) => kind !== "condition");
      if (open.length === 0) return;
      this.#at += this.#chance.between(1, 60_000);
      this.#oracle.at = this.#at;
      this.#printFailure();
      const whim = this.#chance.next();
      if (whim < 0.05) this.#setVariables();
      else if (whim < 0.1 && this.#stale.length > 0) this.#late();
      else this.#step(this.#chance.pick(open));
      if (this.#oracle.ending === null) settle(this.#oracle);
      this.#compare();
    }
  }

  #apply(event: UndatedEvent): void {
    const full = { ...event, at: this.#at } as MachineEvent;
    this.#journal.push(full);
    // A call that escalates stays open.
    if ("location" in full && full.kind !== "escalated") this.#ledger.delete(full.location);
    const { commands, cancelled } = this.#live.apply(full);
    for (const location of cancelled) {
      if (!this.#ledger.delete(location)) throw new Disagreement(`${location} was cancelled but is not open`);
      this.#stale.push(location);
    }
    for (const command of commands) {
      if (this.#ledger.has(command.location)) throw new Disagreement(`${command.location} was requested twice`);
      this.#ledger.set(command.location, command);
      this.#count(command);
    }
  }

  /** Completes posts to others at a random later time. */
  #printFailure(): void {
    for (const { kind, location } of [...this.#ledger.values()]) {
      const isPost = kind === "publish" || kind === "correlate" || kind === "broadcast" || kind === "escalate";
      if (isPost && this.#chance.roll(0.4)) this.#apply({ kind: "sent", location });
    }
  }

  #count(command: Command): void {
    if (command.kind !== "work" && command.kind !== "task" && command.kind !== "call") return;
    const element = command.location.replace(/[/#].*$/, "");
    this.#starts.set(element, (this.#starts.get(element) ?? 0) + 1);
  }

  #setVariables(): void {
    const variables = { [this.#chance.pick(VARIABLES)]: this.#chance.between(0, 3) };
    this.#trace.push(`set ${JSON.stringify(variables)}`);
    this.#apply({ kind: "setVariables", row: null, variables });
    Object.assign(this.#oracle.variables, variables);
  }

  /** A late completion of a cancelled command. It must change nothing. */
  #late(): void {
    const location = this.#chance.pick(this.#stale);
    const before = this.#live.state;
    this.#trace.push(`late ${location}`);
    this.#apply({ kind: "completed", location, variables: {}, value: {} });
    if (!isDeepStrictEqual(this.#live.state, before))
      throw new Disagreement(`the late completion of ${location} changed the state`);
  }

  #step(open: OpenNode): void {
    const row = openInMachine(this.#state).find(({ name, kind }) => name === open.name && kind === open.kind);
    if (row === undefined) throw new Disagreement(`${open.kind} ${open.name} is not open`);
    switch (open.kind) {
      case "work":
      case "call":
      case "user":
        this.#work(open, row);
        return;
      case "incident":
        this.#incident(open, row);
        return;
      case "message":
      case "timer":
      case "signal":
      case "condition":
        this.#trace.push(`${open.kind} ${open.name}`);
        this.#apply({ kind: "completed", location: row.location, variables: {}, value: {} });
        if (open.wait !== null) fire(this.#oracle, open.node, open.wait);
    }
  }

  #outputs(): Readonly<Record<string, unknown>> {
    const r = this.#chance.between(1, 99);
    const variables = this.#chance.roll(0.6) ? { [this.#chance.pick(VARIABLES)]: this.#chance.between(0, 3) } : {};
    return { ...variables, r };
  }

  #work({ kind, name, node }: OpenNode, { location }: OpenRow): void {
    const isUndoing = node.parent?.part.kind === "undoing";
    const how = this.#chance.weighted({
      done: 16,
      threw: kind === "user" || isUndoing ? 0 : 3,
      failed: kind === "user" ? 0 : 2,
      escalated: kind === "call" ? 4 : 0,
    });
    if (how === "done") {
      const value = this.#outputs();
      this.#trace.push(`done ${name} ${JSON.stringify(value)}`);
      this.#apply({ kind: "completed", location, variables: kind === "user" ? value : {}, value });
      workDone(this.#oracle, node, kind === "call" ? { ...value } : value);
      return;
    }
    if (how === "failed") {
      // A missing handler is never caught.
      const reason = name.length % 3 === 0 ? "noHandler" : "failed";
      this.#trace.push(`failed ${name} ${reason}`);
      this.#apply({ kind: "failed", location, message: "no", reason });
      const isCaught = reason === "failed" && raise(this.#oracle, node, "failure", "");
      if (!isCaught && node.part.kind === "work") node.part.incident = reason;
      return;
    }
    const code = this.#chance.pick(how === "threw" ? ERRORS : ESCALATIONS);
    this.#trace.push(`${how} ${code} ${name}`);
    if (how === "escalated") {
      this.#apply({ kind: "escalated", location, code, variables: {} });
      raise(this.#oracle, node, "escalation", code);
      return;
    }
    this.#apply({ kind: "threw", location, code, message: code, variables: {} });
    if (!raise(this.#oracle, node, "error", code) && node.part.kind === "work") node.part.incident = "uncaughtError";
  }

  #incident({ name, node }: OpenNode, { row }: OpenRow): void {
    const isSplit = node.part.kind === "noFlow";
    if (isSplit || this.#chance.roll(0.7)) {
      this.#trace.push(`retry ${name}`);
      this.#apply({ kind: "retry", row });
      if (isSplit) splitAgain(this.#oracle, node);
      else if (node.part.kind === "work") {
        node.part.incident = null;
        this.#oracle.starts.set(node.part.task, (this.#oracle.starts.get(node.part.task) ?? 0) + 1);
      }
      return;
    }
    const variables = this.#outputs();
    this.#trace.push(`skip ${name} ${JSON.stringify(variables)}`);
    this.#apply({ kind: "skip", row, variables });
    workDone(this.#oracle, node, variables);
  }

  #compare(): void {
    const state = this.#live.state;
    this.#state = state;
    const { ending } = this.#oracle;
    same("the ending", ending, endingOf(state));
    same("open commands and events", listed(openInOracle(this.#oracle)), listed(openInMachine(state)));
    same("starts of tasks", sorted(this.#oracle.starts), sorted(this.#starts));
    if (ending?.kind !== "failed") same("the variables", seen(this.#oracle.variables), seen(variablesOf(state)));
    this.#compareLedger(state);
    this.#rebuild(state);
  }

  #compareLedger(state: State): void {
    if (state.ending !== null) return;
    same(
      "open commands of the ledger",
      [...this.#ledger.keys()].sort(),
      state.commands.map(({ location }) => location).sort(),
    );
  }

  /** The state rebuilt from the last snapshot and the journal after it must equal the live state. */
  #rebuild(state: State): void {
    const rebuilt = new this.#machine(this.#process, ENVIRONMENT, this.#kept);
    for (const event of this.#journal) rebuilt.apply(event);
    if (!isDeepStrictEqual(rebuilt.state, state)) {
      throw new Disagreement(
        `the rebuilt state differs\n  live    ${JSON.stringify(state)}\n  rebuilt ${JSON.stringify(rebuilt.state)}`,
      );
    }
    if (!this.#chance.roll(0.2)) return;
    this.#kept = JSON.parse(JSON.stringify(state)) as State;
    this.#journal = [];
  }
}

function endingOf({ ending }: State): OracleState["ending"] {
  if (ending === null) return null;
  return ending.kind === "completed" ? { kind: "completed" } : { kind: "failed", code: ending.code };
}

function variablesOf({ rows, ending }: State): Readonly<Record<string, unknown>> {
  return ending === null ? (rows.find(({ parent }) => parent === 0)?.variables ?? {}) : ending.variables;
}

/** The variables that the oracle models. */
function seen(variables: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  return Object.entries(variables)
    .filter(([name]) => VARIABLES.includes(name) || name.startsWith("out_"))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
}

function same(name: string, expected: unknown, actual: unknown): void {
  if (isDeepStrictEqual(expected, actual)) return;
  throw new Disagreement(`${name}\n  oracle  ${JSON.stringify(expected)}\n  machine ${JSON.stringify(actual)}`);
}
