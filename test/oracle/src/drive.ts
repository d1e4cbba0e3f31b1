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
import { fire, raise } from "./happen.ts";
import { listed, type OpenNode, type OpenRow, openInMachine, openInOracle } from "./observe.ts";
import { createWorld, rest } from "./oracle.ts";
import { splitAgain, workDone } from "./structure.ts";
import type { World } from "./world.ts";

export type Machine = typeof Instance;

export interface Driven {
  /** What they disagree in; null: nothing. */
  readonly flaw: string | null;
  /** What has happened, in order. */
  readonly trace: readonly string[];
}

type Happening = MachineEvent extends infer Event ? (Event extends MachineEvent ? Omit<Event, "at"> : never) : never;

const ENVIRONMENT: Environment = { evaluate: evaluateExpression, isCalled: false };
const START_AT = 1_000_000;
const STEPS_MAX = 60;

/** Runs one process on the machine and in the oracle, side by side. */
export async function drive(scope: Scope, machine: Machine, seed: number): Promise<Driven> {
  const [process] = await readBpmn(documentOf(scope));
  if (process === undefined) throw new Error("there is no process");
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
  readonly #world: World;
  readonly #live: Instance;
  /** As it was when it was last compared. */
  #state: State;
  /** What the kernel holds open, by location. */
  readonly #ledger = new Map<string, Command>();
  readonly #begun = new Map<string, number>();
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
    this.#happens({ kind: "started", variables, startedBy: null });
    this.#state = this.#live.state;
    this.#world = createWorld(scope, variables, START_AT);
  }

  run(): void {
    this.#compare();
    for (let step = 0; step < STEPS_MAX && this.#world.ending === null; step += 1) {
      const open = openInOracle(this.#world).filter(({ kind }) => kind !== "condition");
      if (open.length === 0) return;
      this.#at += this.#chance.between(1, 60_000);
      this.#world.at = this.#at;
      this.#tell();
      const whim = this.#chance.next();
      if (whim < 0.05) this.#setVariables();
      else if (whim < 0.1 && this.#stale.length > 0) this.#late();
      else this.#step(this.#chance.pick(open));
      if (this.#world.ending === null) rest(this.#world);
      this.#compare();
    }
  }

  #happens(event: Happening): void {
    const full = { ...event, at: this.#at } as MachineEvent;
    this.#journal.push(full);
    // A call that escalates stays open.
    if ("location" in full && full.kind !== "escalated") this.#ledger.delete(full.location);
    const { commands, cancelled } = this.#live.apply(full);
    for (const location of cancelled) {
      if (!this.#ledger.delete(location)) throw new Disagreement(`${location} was cancelled, which was not open`);
      this.#stale.push(location);
    }
    for (const command of commands) {
      if (this.#ledger.has(command.location)) throw new Disagreement(`${command.location} was asked for twice`);
      this.#ledger.set(command.location, command);
      this.#count(command);
    }
  }

  /** What is told to others has been, at some time or other. */
  #tell(): void {
    for (const { kind, location } of [...this.#ledger.values()]) {
      const isTold = kind === "publish" || kind === "correlate" || kind === "broadcast" || kind === "escalate";
      if (isTold && this.#chance.roll(0.4)) this.#happens({ kind: "sent", location });
    }
  }

  #count(command: Command): void {
    if (command.kind !== "work" && command.kind !== "task" && command.kind !== "call") return;
    const element = command.location.replace(/[/#].*$/, "");
    this.#begun.set(element, (this.#begun.get(element) ?? 0) + 1);
  }

  #setVariables(): void {
    const variables = { [this.#chance.pick(VARIABLES)]: this.#chance.between(0, 3) };
    this.#trace.push(`set ${JSON.stringify(variables)}`);
    this.#happens({ kind: "setVariables", row: null, variables });
    Object.assign(this.#world.variables, variables);
  }

  /** A completion for what is not needed any more. */
  #late(): void {
    const location = this.#chance.pick(this.#stale);
    const before = this.#live.state;
    this.#trace.push(`late ${location}`);
    this.#happens({ kind: "completed", location, variables: {}, value: {} });
    if (!isDeepStrictEqual(this.#live.state, before))
      throw new Disagreement(`${location} came too late and changed something`);
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
        this.#happens({ kind: "completed", location: row.location, variables: {}, value: {} });
        if (open.wait !== null) fire(this.#world, open.node, open.wait);
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
      this.#happens({ kind: "completed", location, variables: kind === "user" ? value : {}, value });
      workDone(this.#world, node, kind === "call" ? { ...value } : value);
      return;
    }
    if (how === "failed") {
      this.#trace.push(`failed ${name}`);
      this.#happens({ kind: "failed", location, message: "no", reason: "failed" });
      if (node.part.kind === "work") node.part.incident = "failed";
      return;
    }
    const code = this.#chance.pick(how === "threw" ? ERRORS : ESCALATIONS);
    this.#trace.push(`${how} ${code} ${name}`);
    if (how === "escalated") {
      this.#happens({ kind: "escalated", location, code, variables: {} });
      raise(this.#world, node, "escalation", code);
      return;
    }
    this.#happens({ kind: "threw", location, code, message: code, variables: {} });
    if (!raise(this.#world, node, "error", code) && node.part.kind === "work") node.part.incident = "uncaughtError";
  }

  #incident({ name, node }: OpenNode, { row }: OpenRow): void {
    const isSplit = node.part.kind === "noFlow";
    if (isSplit || this.#chance.roll(0.7)) {
      this.#trace.push(`retry ${name}`);
      this.#happens({ kind: "retry", row });
      if (isSplit) splitAgain(this.#world, node);
      else if (node.part.kind === "work") {
        node.part.incident = null;
        this.#world.begun.set(node.part.task, (this.#world.begun.get(node.part.task) ?? 0) + 1);
      }
      return;
    }
    const variables = this.#outputs();
    this.#trace.push(`skip ${name} ${JSON.stringify(variables)}`);
    this.#happens({ kind: "skip", row, variables });
    workDone(this.#world, node, variables);
  }

  #compare(): void {
    const state = this.#live.state;
    this.#state = state;
    const { ending } = this.#world;
    same("the ending", ending, endingOf(state));
    same("what is open", listed(openInOracle(this.#world)), listed(openInMachine(state)));
    same("how often tasks were begun", sorted(this.#world.begun), sorted(this.#begun));
    if (ending?.kind !== "failed") same("the variables", seen(this.#world.variables), seen(variablesOf(state)));
    this.#compareLedger(state);
    this.#rebuild(state);
  }

  #compareLedger(state: State): void {
    if (state.ending !== null) return;
    same(
      "what the kernel holds open",
      [...this.#ledger.keys()].sort(),
      state.commands.map(({ location }) => location).sort(),
    );
  }

  /** What is rebuilt from the last snapshot and the journal after it is what is live. */
  #rebuild(state: State): void {
    const rebuilt = new this.#machine(this.#process, ENVIRONMENT, this.#kept);
    for (const event of this.#journal) rebuilt.apply(event);
    if (!isDeepStrictEqual(rebuilt.state, state)) {
      throw new Disagreement(
        `rebuilt, it is another\n  live    ${JSON.stringify(state)}\n  rebuilt ${JSON.stringify(rebuilt.state)}`,
      );
    }
    if (!this.#chance.roll(0.2)) return;
    this.#kept = JSON.parse(JSON.stringify(state)) as State;
    this.#journal = [];
  }
}

function endingOf({ ending }: State): World["ending"] {
  if (ending === null) return null;
  return ending.kind === "completed" ? { kind: "completed" } : { kind: "failed", code: ending.code };
}

function variablesOf({ rows, ending }: State): Readonly<Record<string, unknown>> {
  return ending === null ? (rows.find(({ parent }) => parent === 0)?.variables ?? {}) : ending.variables;
}

/** Those that the oracle knows of. */
function seen(variables: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  return Object.entries(variables)
    .filter(([name]) => VARIABLES.includes(name) || name.startsWith("out_"))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
}

function same(what: string, expected: unknown, actual: unknown): void {
  if (isDeepStrictEqual(expected, actual)) return;
  throw new Disagreement(`${what}\n  oracle  ${JSON.stringify(expected)}\n  machine ${JSON.stringify(actual)}`);
}
