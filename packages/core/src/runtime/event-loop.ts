import { EMPTY_CONTEXT } from "./async-context.ts";
import { nodeProcess } from "./platform.ts";
import type { TimerQueue } from "./timer-queue.ts";

/** The two moments of the event loop at which the engine schedules work. */
export interface EventLoop {
  /** Calls back when no promise continuation is left to run, before any I/O. */
  whenIdle(callback: () => void): void;
  /** Calls back at the end of this event-loop turn, after all callbacks that became ready in it. */
  afterTurn(callback: () => void): void;
}

/** Resolves at the end of this event-loop turn. */
export function turnEnd(eventLoop: EventLoop): Promise<void> {
  return new Promise((resolve) => eventLoop.afterTurn(resolve));
}

/** The event loop of the current platform: Node or a browser. */
export function systemEventLoop(): EventLoop {
  return typeof nodeProcess?.nextTick === "function" && typeof setImmediate === "function"
    ? nodeEventLoop()
    : taskEventLoop();
}

/**
 * The event loop of a browser or a web worker. A task runs only when the microtask queue is empty, so each task is an idle moment. Tasks are
 * created by messages, because browsers delay timers.
 */
export function taskEventLoop(): EventLoop {
  const waiting: Array<() => void> = [];
  const { port1, port2 } = new MessageChannel();
  const post = (): void => port2.postMessage(null);
  (port1 as unknown as { onmessage: () => void }).onmessage = () => {
    const callback = waiting.shift();
    // One message at a time, because some platforms deliver several in one task.
    if (waiting.length > 0) post();
    callback?.();
  };
  const later = (callback: () => void): void => {
    waiting.push(callback);
    if (waiting.length === 1) post();
  };
  // Two tasks, so that the turn ends after all earlier `whenIdle` callbacks and the continuations they started.
  return { whenIdle: later, afterTurn: (callback) => later(() => later(callback)) };
}

/** Cheaper than `queueMicrotask`, which creates an async resource for each call. */
const RESOLVED = Promise.resolve();

/** How many callbacks are called at one idle moment. The code that the first ones resume does not wait for all the others. */
const CALLBACKS_MAX = 16;

/**
 * The event loop of Node. A tick requested inside a microtask runs when the microtask queue is empty, so that tick is the idle moment. The
 * end of the turn is the check phase.
 *
 * A replay waits for an idle moment at every record, mostly as the only waiter, so a callback that finds no other waiting is stored in a
 * variable. Further callbacks form a queue. Callbacks that arrive while a queue is being called form the next queue.
 */
export function nodeEventLoop(platformSettle: Settle | null = nodeSettle()): EventLoop {
  const { nextTick } = process;
  /** Undefined until `platformSettle` was tested. */
  let settle: Settle | null | undefined;
  let first: (() => void) | null = null;
  let queue: Array<() => void> = [];
  let nextQueue: Array<() => void> = [];
  /** Index in `queue` of the next callback. */
  let next = 0;
  /** Whether a tick is requested or running. */
  let isScheduled = false;
  const hasWaiting = (): boolean => first !== null || next < queue.length || nextQueue.length > 0;
  const callNext = (): void => {
    const callback = first;
    first = null;
    if (next === queue.length) {
      if (nextQueue.length === 0) {
        callback?.();
        return;
      }
      queue = nextQueue;
      nextQueue = [];
      next = 0;
    }
    const end = Math.min(queue.length, next + (callback === null ? CALLBACKS_MAX : CALLBACKS_MAX - 1));
    callback?.();
    while (next < end) {
      next += 1;
      queue[next - 1]?.();
    }
  };
  /** If continuations can be run to their end from here, one tick serves all waiting callbacks. A tick for each takes twice as long. */
  const callAll = (): void => {
    if (settle === undefined) settle = platformSettle !== null && settles(platformSettle) ? platformSettle : null;
    callNext();
    if (settle === null) return;
    for (settle(); hasWaiting(); settle()) callNext();
  };
  const onTick = withoutContext(() => {
    try {
      callAll();
    } finally {
      isScheduled = false;
      // When a callback throws, the others are still called.
      if (hasWaiting()) schedule();
    }
  });
  const tick = (): void => nextTick(onTick);
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    void RESOLVED.then(tick);
  };
  return {
    whenIdle(callback) {
      if (hasWaiting()) nextQueue.push(callback);
      else first = callback;
      schedule();
    },
    afterTurn(callback) {
      setImmediate(callback);
    },
  };
}

/**
 * Runs `call` outside the async context of any run. Unhandled rejections are reported inside the call, and must not be attributed to the run
 * that scheduled it.
 */
function withoutContext(call: () => void): () => void {
  return () => EMPTY_CONTEXT.runInAsyncScope(call);
}

/**
 * Runs all pending ticks and promise continuations, including those that they create. Returns when none is left. Must not be called from a
 * promise continuation.
 */
export type Settle = () => void;

/** Node's own function, which it calls between timers. It is undocumented, so callers first test it with `settles`. */
export function nodeSettle(): Settle | null {
  const { _tickCallback: settle } = (nodeProcess ?? {}) as { readonly _tickCallback?: unknown };
  return typeof settle === "function" ? (settle as Settle) : null;
}

/** Whether `settle` runs pending continuations to their end. Must be called in a tick. */
export function settles(settle: Settle): boolean {
  let hasSettled = false;
  const chain = async (): Promise<void> => {
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await null;
    hasSettled = true;
  };
  void chain();
  settle();
  return hasSettled;
}

/**
 * Delays the end of a turn by one turn when timers are due. Runs that wait for these timers resume before a callback of `afterTurn`, such as
 * a commit, keeps the event loop busy.
 */
export function dueTimersFirst(eventLoop: EventLoop, timers: TimerQueue): EventLoop {
  return {
    whenIdle: (callback) => eventLoop.whenIdle(callback),
    afterTurn: (callback) =>
      eventLoop.afterTurn(() => {
        if (timers.catchUp()) eventLoop.afterTurn(callback);
        else callback();
      }),
  };
}
