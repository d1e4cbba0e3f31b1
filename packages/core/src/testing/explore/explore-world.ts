import type { World } from "../../engine/config.ts";
import { type EventLoop, nodeEventLoop } from "../../runtime/event-loop.ts";
import { type Random, seededRandom } from "../../runtime/random.ts";
import { type VirtualClock, virtualClock } from "../virtual-world.ts";

/** The original functions: `guardGlobals` replaces them while a workflow is explored. */
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const { nextTick } = process;

const RESOLVED = Promise.resolve();
const ITERATIONS_MAX = 100_000;
/** How long `settle` waits for the next step body that performs I/O to end. */
const IO_WAIT_MS_MAX = 250;

/**
 * The world in which schedules are executed. It waits for a turn of the event loop only if a step body performs I/O, so it executes
 * hundreds of schedules per second.
 */
export class ExploreWorld implements World {
  readonly clock: VirtualClock = virtualClock();
  readonly random: Random = seededRandom(1);
  readonly eventLoop: EventLoop;
  readonly #afterTurn: Array<() => void> = [];
  /** The number of `whenIdle` callbacks not called yet. */
  #awaitingIdle = 0;
  /** The number of step bodies that perform I/O. */
  #inIo = 0;
  /** False after a wait for I/O timed out: later waits would only repeat it. */
  #waitsForIo = true;

  constructor() {
    // Each callback gets a separate tick. `settle` also waits by ticks, and a tick that serves all callbacks would never end.
    const node = nodeEventLoop(null);
    this.eventLoop = {
      whenIdle: (callback) => {
        this.#awaitingIdle += 1;
        node.whenIdle(() => {
          this.#awaitingIdle -= 1;
          callback();
        });
      },
      afterTurn: (callback) => this.#afterTurn.push(callback),
    };
  }

  /** Marks the start of I/O; the returned function marks its end. */
  startIo(): () => void {
    this.#inIo += 1;
    return () => {
      this.#inIo -= 1;
    };
  }

  /** Resolves when everything that needs no virtual time has happened. */
  async settle(): Promise<void> {
    let isQuiet = false;
    for (let iteration = 0; iteration < ITERATIONS_MAX; iteration += 1) {
      await promisesSettled();
      if (this.#awaitingIdle > 0) {
        isQuiet = false;
      } else if (this.#afterTurn.length > 0) {
        for (const callback of this.#afterTurn.splice(0)) callback();
        isQuiet = false;
      } else {
        if (isQuiet && !(await this.#ioEnded())) return;
        isQuiet = true;
      }
    }
    throw new Error(
      `the world is still busy after ${ITERATIONS_MAX} iterations; check the workflow for a loop without a wait`,
    );
  }

  /** Waits until I/O starts or ends. Returns false if none is in progress or the wait timed out. */
  async #ioEnded(): Promise<boolean> {
    if (this.#inIo === 0 || !this.#waitsForIo) return false;
    const before = this.#inIo;
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
    }, IO_WAIT_MS_MAX);
    while (!timedOut && this.#inIo === before) await turn();
    clearTimeout(timer);
    this.#waitsForIo = !timedOut;
    return !timedOut;
  }
}

/** Resolves when all pending promise continuations have run. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => {
    void RESOLVED.then(() => nextTick(resolve));
  });
}

/** Resolves after one turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
