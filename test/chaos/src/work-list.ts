import type { Scenario } from "./load/scenario.ts";

/**
 * The scenarios, and the processes that drive them.
 *
 * 1. A scenario has one driver at a time. A scenario of an exited process goes to another process, from its start.
 */
export class WorkList {
  readonly #make: (index: number) => Scenario;
  /** Driven scenarios, by index, with their process. */
  readonly #driven = new Map<number, { readonly scenario: Scenario; readonly process: string }>();
  readonly #waiting: Scenario[] = [];
  #made = 0;
  #open = true;

  constructor(make: (index: number) => Scenario) {
    this.#make = make;
  }

  /** The number of started scenarios. */
  get made(): number {
    return this.#made;
  }

  get left(): number {
    return this.#driven.size + this.#waiting.length;
  }

  /** Returns the next scenario for the process. Null if there is none now. */
  next(process: string): Scenario | null {
    const scenario = this.#waiting.shift() ?? (this.#open ? this.#make(this.#made++) : null);
    if (scenario !== null) this.#driven.set(scenario.index, { scenario, process });
    return scenario;
  }

  done(process: string, index: number): void {
    if (this.#driven.get(index)?.process === process) this.#driven.delete(index);
  }

  /** The process has exited: its scenarios go to others. */
  processExited(process: string): void {
    for (const [index, driven] of this.#driven) {
      if (driven.process !== process) continue;
      this.#driven.delete(index);
      this.#waiting.push(driven.scenario);
    }
  }

  /** After this only added scenarios start. */
  close(): void {
    this.#open = false;
  }

  add(make: (index: number) => Scenario): void {
    this.#waiting.push(make(this.#made++));
  }
}
