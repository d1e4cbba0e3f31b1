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
 * asked before it. The end of the turn is the check phase. A replay asks for rest at every record, mostly alone: the first to
 * ask has a place of its own.
 */
export function nodeTurns(): Turns {
  const { nextTick } = process;
  let first: (() => void) | null = null;
  let others: Array<() => void> = [];
  const rest = (): void => {
    const callback = first;
    const callbacks = others.length === 0 ? null : others;
    first = null;
    if (callbacks !== null) others = [];
    callback?.();
    if (callbacks !== null) for (const other of callbacks) other();
  };
  const tick = (): void => nextTick(rest);
  return {
    atRest(callback) {
      if (first !== null) {
        others.push(callback);
        return;
      }
      first = callback;
      void RESOLVED.then(tick);
    },
    atTurnEnd(callback) {
      setImmediate(callback);
    },
  };
}
