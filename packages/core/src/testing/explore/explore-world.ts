import type { World } from "../../engine/config.ts";
import { type EventLoop, nodeEventLoop } from "../../runtime/event-loop.ts";
import { type Random, seededRandom } from "../../runtime/random.ts";
import { type VirtualClock, virtualClock } from "../virtual-world.ts";

/** As they are when this file is loaded: others may be put in their place while a workflow is explored. */
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const { nextTick } = process;

const RESOLVED = Promise.resolve();
const ROUNDS_MAX = 100_000;
/** How long something that waits for the machine is waited for. */
const PATIENCE_MS = 250;

/**
 * A world in which schedules are played: no turn of the event loop passes unless a body waits for the machine, so that
 * hundreds are played in a second.
 */
export class ExploreWorld implements World {
  readonly clock: VirtualClock = virtualClock();
  readonly random: Random = seededRandom(1);
  readonly eventLoop: EventLoop;
  readonly #ends: Array<() => void> = [];
  #resting = 0;
  #held = 0;
  #patient = true;

  constructor() {
    // A tick each: `settle` asks in ticks, too, and one that served all who ask would never end.
    const node = nodeEventLoop(null);
    this.eventLoop = {
      whenIdle: (callback) => {
        this.#resting += 1;
        node.whenIdle(() => {
          this.#resting -= 1;
          callback();
        });
      },
      afterTurn: (callback) => this.#ends.push(callback),
    };
  }

  /** Something waits for the machine until the returned function is called. */
  hold(): () => void {
    this.#held += 1;
    return () => {
      this.#held -= 1;
    };
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    let isQuiet = false;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await rest();
      if (this.#resting > 0) {
        isQuiet = false;
      } else if (this.#ends.length > 0) {
        for (const callback of this.#ends.splice(0)) callback();
        isQuiet = false;
      } else {
        if (isQuiet && !(await this.#machine())) return;
        isQuiet = true;
      }
    }
    throw new Error(`there was something to do for ${ROUNDS_MAX} turns on end: does a workflow loop without a wait?`);
  }

  /** Waits for whoever waits for the machine; false: nobody does, or it takes too long. */
  async #machine(): Promise<boolean> {
    if (this.#held === 0 || !this.#patient) return false;
    const held = this.#held;
    let isOver = false;
    const patience = setTimeout(() => {
      isOver = true;
    }, PATIENCE_MS);
    while (!isOver && this.#held === held) await turn();
    clearTimeout(patience);
    this.#patient = !isOver;
    return !isOver;
  }
}

/** Resolves when all promise continuations have come to rest. */
function rest(): Promise<void> {
  return new Promise((resolve) => {
    void RESOLVED.then(() => nextTick(resolve));
  });
}

/** A turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
