import { builtinModule } from "../../runtime/platform.ts";
import { bytesFor, filledFor, intFor, uuidFor } from "./location-random.ts";
import { currentLocation, type UserCodeLocation } from "./user-code-location.ts";

/** A global function, and how it is put back. */
interface Guard {
  install(): () => void;
}

/** Test runners do things of their own when user code writes to the console. */
const RUNNERS = /node_modules[\\/](\.pnpm[\\/])?(@?vitest|@?jest|jest-)|node:internal/;

/** Enough to find who called. */
const FRAMES_MAX = 8;

/** Thousands of errors are made to be thrown, and nobody looks where. */
const stackGuard: Guard = {
  install() {
    const before = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    return () => {
      Error.stackTraceLimit = before;
    };
  },
};

let users = 0;
let restore: Array<() => void> = [];

/**
 * While it is on, the machine's time and randomness are seen to: a workflow's function that asks for them is told of, and the
 * bodies of steps get those of the world they are in. Gives what ends it.
 */
export function guardGlobals(): () => void {
  if (users === 0) {
    restore = GUARDS.map((guard) => guard.install());
    syncNames?.();
  }
  users += 1;
  let isOn = true;
  return () => {
    if (!isOn) return;
    isOn = false;
    users -= 1;
    if (users > 0) return;
    for (const each of restore.splice(0).reverse()) each();
    syncNames?.();
  };
}

/** The place of the code that called, if it is one whose calls count. */
function callersPlace(): UserCodeLocation | undefined {
  const place = currentLocation();
  if (place?.kind !== "code") return place;
  const frames = stackHere().split("\n").slice(1);
  const caller = frames.find((frame) => !frame.includes("guarded-globals"));
  return caller !== undefined && RUNNERS.test(caller) ? undefined : place;
}

function stackHere(): string {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = "" } = new Error("place");
  Error.stackTraceLimit = before;
  return stack;
}

/**
 * In code it is told of and done; in a body `inBody` does it, unless it gives undefined. Without an owner there is nothing to
 * guard: not every platform has all of them.
 */
function guarded<Args extends readonly unknown[], Value>(
  owner: object | null | undefined,
  name: string,
  says: string,
  inBody: ((place: UserCodeLocation, ...args: Args) => Value | undefined) | null = null,
): Guard {
  return {
    install() {
      if (owner === null || owner === undefined) return () => undefined;
      const before = Object.getOwnPropertyDescriptor(owner, name);
      const original = Reflect.get(owner, name) as unknown;
      if (typeof original !== "function") return () => undefined;
      const value = function (this: unknown, ...args: Args): unknown {
        const place = callersPlace();
        if (place?.kind === "code") place.strayed(says);
        const own = place?.kind === "body" ? inBody?.(place, ...args) : undefined;
        return own ?? (Reflect.apply(original, this === undefined ? owner : this, args) as unknown);
      };
      // What hangs on it: `process.hrtime.bigint`, and what makes promises of timers.
      for (const key of Reflect.ownKeys(original))
        if (!Object.hasOwn(value, key)) Reflect.set(value, key, Reflect.get(original, key));
      Object.defineProperty(owner, name, { value, configurable: true, writable: true });
      return () => {
        if (before === undefined) Reflect.deleteProperty(owner, name);
        else Object.defineProperty(owner, name, before);
      };
    },
  };
}

/** `new Date()` and `Date()` as well as `Date.now()`. Every other use of it is its own. */
const dateGuard: Guard = {
  install() {
    const Original = globalThis.Date;
    const now = (says: string): number => {
      const place = callersPlace();
      if (place?.kind === "code") place.strayed(says);
      return place?.kind === "body" ? place.now() : Original.now();
    };
    const replaced: DateConstructor = new Proxy(Original, {
      construct: (target, args, newTarget): object =>
        Reflect.construct(
          target,
          args.length === 0 ? [now("new Date()")] : args,
          newTarget === replaced ? target : newTarget,
        ) as object,
      apply: () => new Original(now("Date()")).toString(),
      get: (target, key) => (key === "now" ? (): number => now("Date.now()") : Reflect.get(target, key)),
    });
    globalThis.Date = replaced;
    return () => {
      globalThis.Date = Original;
    };
  },
};

/** Names that were imported from a module of the platform are those that its object has at this moment. */
const syncNames = builtinModule<typeof import("node:module")>("node:module")?.syncBuiltinESMExports;
const nodeCrypto = builtinModule<typeof import("node:crypto")>("node:crypto");
const timers = builtinModule<typeof import("node:timers")>("node:timers");
const timerPromises = builtinModule<typeof import("node:timers/promises")>("node:timers/promises");

const GUARDS: readonly Guard[] = [
  stackGuard,
  dateGuard,
  guarded(Math, "random", "Math.random()", (place) => place.random()),
  guarded(performance, "now", "performance.now()", (place) => place.now()),
  guarded(process.hrtime, "bigint", "process.hrtime.bigint()"),
  guarded(process, "hrtime", "process.hrtime()"),
  guarded(globalThis.crypto, "randomUUID", "crypto.randomUUID()", uuidFor),
  guarded(globalThis.crypto, "getRandomValues", "crypto.getRandomValues()", filledFor),
  guarded(nodeCrypto, "randomUUID", "randomUUID()", uuidFor),
  guarded(nodeCrypto, "randomBytes", "randomBytes()", bytesFor),
  guarded(nodeCrypto, "randomInt", "randomInt()", intFor),
  guarded(nodeCrypto, "randomFillSync", "randomFillSync()"),
  guarded(nodeCrypto, "randomFill", "randomFill()"),
  guarded(globalThis, "setTimeout", "setTimeout()"),
  guarded(globalThis, "setInterval", "setInterval()"),
  guarded(globalThis, "setImmediate", "setImmediate()"),
  guarded(timers, "setTimeout", "setTimeout()"),
  guarded(timers, "setInterval", "setInterval()"),
  guarded(timers, "setImmediate", "setImmediate()"),
  guarded(timerPromises, "setTimeout", "setTimeout()"),
  guarded(timerPromises, "setImmediate", "setImmediate()"),
  guarded(globalThis, "fetch", "fetch()"),
];
