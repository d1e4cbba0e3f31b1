/** How work is spread over the event loop. */
export interface Turns {
  /** Calls back when all promise continuations that are under way have come to rest, before any I/O. */
  atRest(callback: () => void): void;
  /** Calls back at the end of this turn of the event loop, after whatever else became ready in it. */
  atTurnEnd(callback: () => void): void;
}

/** Cheaper than `queueMicrotask`, which makes a resource for each call. */
const RESOLVED = Promise.resolve();

/**
 * Node's loop. A tick that is asked for inside a microtask runs when the microtask queue is empty: that is rest, for all who
 * asked before it. The end of the turn is the check phase.
 */
export function nodeTurns(): Turns {
  let asked: Array<() => void> = [];
  let spare: Array<() => void> = [];
  const rest = (): void => {
    const callbacks = asked;
    asked = spare;
    for (const callback of callbacks) callback();
    callbacks.length = 0;
    spare = callbacks;
  };
  const tick = (): void => process.nextTick(rest);
  return {
    atRest(callback) {
      if (asked.push(callback) === 1) void RESOLVED.then(tick);
    },
    atTurnEnd(callback) {
      setImmediate(callback);
    },
  };
}
