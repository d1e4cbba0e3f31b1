import type { Scenario } from "./load/scenario.ts";

/**
 * Which scenarios are driven by whom.
 *
 * 1. A scenario has one driver at a time; that of a process that is gone goes to another, from its start.
 */
export class WorkList {
  readonly #make: (index: number) => Scenario;
  /** Scenarios under way, by index, with the process that drives them. */
  readonly #driven = new Map<number, { readonly scenario: Scenario; readonly process: string }>();
  readonly #waiting: Scenario[] = [];
  #made = 0;
  #open = true;

  constructor(make: (index: number) => Scenario) {
    this.#make = make;
  }

  /** How many were begun, and how many of them are not done. */
  get made(): number {
    return this.#made;
  }

  get left(): number {
    return this.#driven.size + this.#waiting.length;
  }

  /** Null: there is none at the moment. */
  next(process: string): Scenario | null {
    const scenario = this.#waiting.shift() ?? (this.#open ? this.#make(this.#made++) : null);
    if (scenario !== null) this.#driven.set(scenario.index, { scenario, process });
    return scenario;
  }

  done(process: string, index: number): void {
    if (this.#driven.get(index)?.process === process) this.#driven.delete(index);
  }

  /** The process is gone. */
  gone(process: string): void {
    for (const [index, driven] of this.#driven) {
      if (driven.process !== process) continue;
      this.#driven.delete(index);
      this.#waiting.push(driven.scenario);
    }
  }

  /** Nothing is begun any more but what is added. */
  close(): void {
    this.#open = false;
  }

  add(make: (index: number) => Scenario): void {
    this.#waiting.push(make(this.#made++));
  }
}
