/** How work is spread over the event loop. */
export interface Turns {
  /** Calls back when all promise continuations that are under way have come to rest, before any I/O. */
  atRest(callback: () => void): void;
  /** Calls back at the end of this turn of the event loop, after whatever else became ready in it. */
  atTurnEnd(callback: () => void): void;
}

/**
 * Node's loop. A tick that is asked for inside a microtask runs when the microtask queue is empty: that is rest.
 * The end of the turn is the check phase.
 */
/** Cheaper than `queueMicrotask`, which makes a resource for each call. */
const RESOLVED = Promise.resolve();

export function nodeTurns(): Turns {
  return {
    atRest(callback) {
      void RESOLVED.then(() => process.nextTick(callback));
    },
    atTurnEnd(callback) {
      setImmediate(callback);
    },
  };
}
