import { readBpmn } from "../definition/read-bpmn.ts";
import { evaluateExpression } from "../expressions.ts";
import { advance } from "../machine/advance.ts";
import type { Command, MachineEvent, State, Variables } from "../machine/state.ts";
import { visibleFrom } from "../machine/variables.ts";
import { thaw } from "../machine/working-state.ts";
import type { Process } from "../model/process.ts";

type Happening = MachineEvent extends infer Event ? (Event extends MachineEvent ? Omit<Event, "at"> : never) : never;

const ENVIRONMENT = { evaluate: evaluateExpression, isCalled: false };
const START_AT = 1_000_000;

/**
 * One instance, moved by hand. Work is done when the test says so; what was asked for is listed in order. After every event it
 * checks that the machine has left the state it was given as it was.
 */
export class MachineBench {
  readonly process: Process;
  readonly asked: Command[] = [];
  readonly withdrawn: string[] = [];
  #state: State | null = null;
  #at = START_AT;

  constructor(process: Process) {
    this.process = process;
  }

  static async of(xml: string): Promise<MachineBench> {
    const [process] = await readBpmn(xml);
    if (process === undefined) throw new Error("there is no process");
    return new MachineBench(process);
  }

  get state(): State {
    if (this.#state === null) throw new Error("the instance has not begun");
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

  /** Open commands of a kind, by place. */
  open(kind: Command["kind"]): readonly string[] {
    return this.state.commands.filter((command) => command.kind === kind).map(({ place }) => place);
  }

  /** What the rows of open commands see, in their order. */
  get seen(): readonly Variables[] {
    const live = thaw(this.process, ENVIRONMENT, this.state);
    return this.state.commands.flatMap((command) => ("row" in command ? [visibleFrom(live, command.row)] : []));
  }

  start(variables: Variables = {}): this {
    return this.happens({ kind: "started", variables, startedBy: null });
  }

  happens(event: Happening): this {
    const before = JSON.stringify(this.#state);
    const given = this.#state;
    const { state, commands, withdrawn } = advance(this.process, given, { ...event, at: this.#at }, ENVIRONMENT);
    if (JSON.stringify(given) !== before) throw new Error("the machine has changed the state that it was given");
    if (JSON.stringify(JSON.parse(JSON.stringify(state))) !== JSON.stringify(state)) throw new Error("no JSON");
    this.#state = state;
    this.asked.push(...commands);
    this.withdrawn.push(...withdrawn);
    for (const { kind, place } of commands) {
      if (kind === "publish" || kind === "correlate" || kind === "broadcast" || kind === "escalate") {
        this.happens({ kind: "told", place });
      }
    }
    return this;
  }

  /** Completes the oldest open work of an element. */
  done(element: string, value: unknown = {}): this {
    return this.happens({ kind: "completed", place: this.placeOf(element), variables: {}, value });
  }

  /** What was waited for at a place of an element has come. */
  comes(element: string, variables: Variables = {}): this {
    return this.happens({ kind: "completed", place: this.placeOf(element), variables, value: variables });
  }

  fails(element: string, message = "no"): this {
    return this.happens({ kind: "failed", place: this.placeOf(element), message, reason: "failed" });
  }

  throws(element: string, code: string, variables: Variables = {}): this {
    return this.happens({ kind: "threw", place: this.placeOf(element), code, message: code, variables });
  }

  rowOf(element: string): number {
    const row = this.state.rows.find((each) => each.element === element);
    if (row === undefined) throw new Error(`${element} is not active: ${this.active.join(", ")}`);
    return row.id;
  }

  placeOf(element: string): string {
    const isOf = ({ place }: { readonly place: string }): boolean => new RegExp(`^${element}(?:[/#]|$)`).test(place);
    const command = this.state.commands.find(isOf);
    if (command === undefined) {
      throw new Error(`nothing is open at ${element}: ${this.state.commands.map(({ place }) => place).join(", ")}`);
    }
    return command.place;
  }
}
