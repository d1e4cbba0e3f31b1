import type { Process } from "../model/process.ts";
import { take } from "./advance.ts";
import { createLive, type Environment, freeze, type Live, thaw } from "./live.ts";
import type { Advanced, MachineEvent, State } from "./state.ts";

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
