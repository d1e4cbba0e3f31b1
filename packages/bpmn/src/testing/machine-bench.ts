import { readBpmn } from "../definition/read-bpmn.ts";
import { evaluateExpression } from "../expressions.ts";
import { advance } from "../machine/advance.ts";
import type { Command, MachineEvent, State, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import { fromState } from "../machine/working-state.ts";
import type { Process } from "../model/process.ts";

type Happening = MachineEvent extends infer Event ? (Event extends MachineEvent ? Omit<Event, "at"> : never) : never;

const ENVIRONMENT = { evaluate: evaluateExpression, isCalled: false };
const START_AT = 1_000_000;

/**
 * Drives one instance by hand: the test completes each command. After every event it checks that the machine did not change the
 * state it was given.
 */
export class MachineBench {
  readonly process: Process;
  readonly issued: Command[] = [];
  readonly cancelled: string[] = [];
  #state: State | null = null;
  #at = START_AT;

  constructor(process: Process) {
    this.process = process;
  }

  static async of(xml: string): Promise<MachineBench> {
    const [process] = await readBpmn(xml);
    if (process === undefined) throw new Error("process not found");
    return new MachineBench(process);
  }

  get state(): State {
    if (this.#state === null) throw new Error("the instance has not started");
    return this.#state;
  }

  get ending(): State["ending"] {
    return this.state.ending;
  }

  get at(): number {
    return this.#at;
  }

  set at(at: number) {
    this.#at = at;
  }

  /** The ids of active elements, sorted. */
  get active(): readonly string[] {
    return this.state.rows
      .filter(({ parent }) => parent !== 0)
      .map(({ element }) => element)
      .sort();
  }

  get variables(): Variables {
    return this.state.rows.find(({ parent }) => parent === 0)?.variables ?? {};
  }

  get incidents(): ReadonlyArray<readonly [string, string]> {
    return this.state.rows.flatMap(({ element, incident }) => (incident === null ? [] : [[element, incident.kind]]));
  }

  /** The locations of open commands of a kind. */
  open(kind: Command["kind"]): readonly string[] {
    return this.state.commands.filter((command) => command.kind === kind).map(({ location }) => location);
  }

  /** The variables that the rows of open commands see. */
  get seen(): readonly Variables[] {
    const state = fromState(this.process, ENVIRONMENT, this.state);
    return this.state.commands.flatMap((command) => ("row" in command ? [variablesOfRow(state, command.row)] : []));
  }

  start(variables: Variables = {}): this {
    return this.happens({ kind: "started", variables, startedBy: null });
  }

  happens(event: Happening): this {
    const before = JSON.stringify(this.#state);
    const given = this.#state;
    const { state, commands, cancelled } = advance(this.process, given, { ...event, at: this.#at }, ENVIRONMENT);
    if (JSON.stringify(given) !== before) throw new Error("the machine has changed the state that it was given");
    if (JSON.stringify(JSON.parse(JSON.stringify(state))) !== JSON.stringify(state)) throw new Error("no JSON");
    this.#state = state;
    this.issued.push(...commands);
    this.cancelled.push(...cancelled);
    for (const { kind, location } of commands) {
      if (kind === "publish" || kind === "correlate" || kind === "broadcast" || kind === "escalate") {
        this.happens({ kind: "sent", location });
      }
    }
    return this;
  }

  /** Completes the oldest open command of an element. */
  done(element: string, value: unknown = {}): this {
    return this.happens({ kind: "completed", location: this.locationOf(element), variables: {}, value });
  }

  /** Completes a wait of an element. */
  comes(element: string, variables: Variables = {}): this {
    return this.happens({ kind: "completed", location: this.locationOf(element), variables, value: variables });
  }

  fails(element: string, message = "no"): this {
    return this.happens({ kind: "failed", location: this.locationOf(element), message, reason: "failed" });
  }

  throws(element: string, code: string, variables: Variables = {}): this {
    return this.happens({ kind: "threw", location: this.locationOf(element), code, message: code, variables });
  }

  rowOf(element: string): number {
    const row = this.state.rows.find((each) => each.element === element);
    if (row === undefined) throw new Error(`${element} is not active: ${this.active.join(", ")}`);
    return row.id;
  }

  locationOf(element: string): string {
    const isOf = ({ location }: { readonly location: string }): boolean =>
      new RegExp(`^${element}(?:[/#]|$)`).test(location);
    const command = this.state.commands.find(isOf);
    if (command === undefined) {
      throw new Error(
        `nothing is open at ${element}: ${this.state.commands.map(({ location }) => location).join(", ")}`,
      );
    }
    return command.location;
  }
}
