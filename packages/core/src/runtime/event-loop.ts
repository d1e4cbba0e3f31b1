import { builtinModule, nodeProcess } from "./platform.ts";
import type { TimerQueue } from "./timer-queue.ts";

/** How work is spread over the event loop. */
export interface EventLoop {
  /** Calls back when all promise continuations that are under way have come to rest, before any I/O. */
  whenIdle(callback: () => void): void;
  /** Calls back at the end of this turn of the event loop, after whatever else became ready in it. */
  afterTurn(callback: () => void): void;
}

/** Resolves at the end of this turn of the event loop. */
export function turnEnd(eventLoop: EventLoop): Promise<void> {
  return new Promise((resolve) => eventLoop.afterTurn(resolve));
}

/** The eventLoop of the platform that this is: Node's, or a browser's. */
export function systemEventLoop(): EventLoop {
  return typeof nodeProcess?.nextTick === "function" && typeof setImmediate === "function"
    ? nodeEventLoop()
    : taskEventLoop();
}

/**
 * The loop of a browser or a worker. A task runs when the microtask queue is empty: that is rest. Tasks by messages come at once,
 * where timers are held back.
 */
export function taskEventLoop(): EventLoop {
  const waiting: Array<() => void> = [];
  const { port1, port2 } = new MessageChannel();
  const post = (): void => port2.postMessage(null);
  (port1 as unknown as { onmessage: () => void }).onmessage = () => {
    const callback = waiting.shift();
    // One message at a time: some platforms hand out several in one task.
    if (waiting.length > 0) post();
    callback?.();
  };
  const later = (callback: () => void): void => {
    waiting.push(callback);
    if (waiting.length === 1) post();
  };
  // The end of the turn lies after whatever had asked for rest before it, and what came of that.
  return { whenIdle: later, afterTurn: (callback) => later(() => later(callback)) };
}

/** Cheaper than `queueMicrotask`, which makes a resource for each call. */
const RESOLVED = Promise.resolve();

/** How many are called at one rest: the code that the first sets in motion need not wait until the last was called. */
const AT_ONCE = 16;

/**
 * Node's loop. A tick that is asked for inside a microtask runs when the microtask queue is empty: that is rest, for all who
 * asked before it. The end of the turn is the check phase. A replay asks for rest at every record, mostly alone: who asks
 * when nobody waits has a place of its own. The others stand in line, and who asks meanwhile makes the next line.
 */
export function nodeEventLoop(platformSettle: Settle | null = nodeSettle()): EventLoop {
  const { nextTick } = process;
  /** Undefined: it is not known yet whether the platform's settles. */
  let settle: Settle | null | undefined;
  let first: (() => void) | null = null;
  let line: Array<() => void> = [];
  let asked: Array<() => void> = [];
  /** The place in the line of who is called next. */
  let next = 0;
  /** Whether a tick is asked for, or at work. */
  let isComing = false;
  const hasWaiting = (): boolean => first !== null || next < line.length || asked.length > 0;
  const callNext = (): void => {
    const callback = first;
    first = null;
    if (next === line.length) {
      if (asked.length === 0) {
        callback?.();
        return;
      }
      line = asked;
      asked = [];
      next = 0;
    }
    const end = Math.min(line.length, next + (callback === null ? AT_ONCE : AT_ONCE - 1));
    callback?.();
    while (next < end) {
      next += 1;
      line[next - 1]?.();
    }
  };
  /** Where what was set in motion can be brought to rest from here, one tick serves all who ask: a tick each takes twice as long. */
  const callAll = (): void => {
    if (settle === undefined) settle = platformSettle !== null && settles(platformSettle) ? platformSettle : null;
    callNext();
    if (settle === null) return;
    for (settle(); hasWaiting(); settle()) callNext();
  };
  const rest = withoutContext(() => {
    try {
      callAll();
    } finally {
      isComing = false;
      // One that throws keeps none of the others from it.
      if (hasWaiting()) come();
    }
  });
  const tick = (): void => nextTick(rest);
  const come = (): void => {
    if (isComing) return;
    isComing = true;
    void RESOLVED.then(tick);
  };
  return {
    whenIdle(callback) {
      if (hasWaiting()) asked.push(callback);
      else first = callback;
      come();
    },
    afterTurn(callback) {
      setImmediate(callback);
    },
  };
}

/** The call, made for none of the runs that asked for it: rejections come to light in it that are somebody else's. */
function withoutContext(call: () => void): () => void {
  const hooks = builtinModule<typeof import("node:async_hooks")>("node:async_hooks");
  if (hooks === null) return call;
  const scope = new hooks.AsyncResource("pawl rest");
  return () => scope.runInAsyncScope(call);
}

/**
 * Runs all ticks and promise continuations that are under way, and whatever comes of them: so it ends when nobody asks for a tick any
 * more. To be called in a tick, or outside of all of them.
 */
export type Settle = () => void;

/** Node's own, which it calls between timers. It has a name and no documentation, so who uses it looks whether it `settles`. */
export function nodeSettle(): Settle | null {
  const { _tickCallback: settle } = (nodeProcess ?? {}) as { readonly _tickCallback?: unknown };
  return typeof settle === "function" ? (settle as Settle) : null;
}

/** Whether it does what it should. To be called in a tick. */
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
 * Turns whose end is put off, once, when deadlines have come meanwhile: what waits for them goes on before whoever waits for
 * the end of the turn keeps the loop busy, as a commit does.
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
