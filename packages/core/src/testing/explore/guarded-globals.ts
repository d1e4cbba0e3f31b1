import { builtinModule } from "../../runtime/platform.ts";
import { bytesFor, filledFor, intFor, uuidFor } from "./location-random.ts";
import { currentLocation, type UserCodeLocation } from "./user-code-location.ts";

/** Replaces a global function. */
interface Guard {
  /** Returns the function that restores the original. */
  install(): () => void;
}

/** Stack frames of test runners, which call guarded functions when user code writes to the console. */
const RUNNERS = /node_modules[\\/](\.pnpm[\\/])?(@?vitest|@?jest|jest-)|node:internal/;

/** The stack frames that are read to find the caller. */
const FRAMES_MAX = 8;

/** Exploring throws thousands of errors whose stacks are not used. Capturing stacks would take most of its time. */
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
 * Replaces the platform's clocks and sources of randomness until the returned function is called. A call in a workflow function is
 * reported; a call in a step body returns the time and random numbers of its world.
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

/** The location of the calling user code. Undefined if a test runner or code beside the workflow calls. */
function callerLocation(): UserCodeLocation | undefined {
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
 * Guards `owner[name]`. A call in a workflow function is reported as `call` and executed. A call in a step body is answered by `inBody`,
 * or by the original if that returns undefined. Does nothing if the platform does not have `owner`.
 */
function guarded<Args extends readonly unknown[], Value>(
  owner: object | null | undefined,
  name: string,
  call: string,
  inBody: ((place: UserCodeLocation, ...args: Args) => Value | undefined) | null = null,
): Guard {
  return {
    install() {
      if (owner === null || owner === undefined) return () => undefined;
      const before = Object.getOwnPropertyDescriptor(owner, name);
      const original = Reflect.get(owner, name) as unknown;
      if (typeof original !== "function") return () => undefined;
      const value = function (this: unknown, ...args: Args): unknown {
        const place = callerLocation();
        if (place?.kind === "code") place.onNondeterministicCall(call);
        const replaced = place?.kind === "body" ? inBody?.(place, ...args) : undefined;
        return replaced ?? (Reflect.apply(original, this === undefined ? owner : this, args) as unknown);
      };
      // Properties of the function, such as `process.hrtime.bigint` and the symbol that makes timers return promises.
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

/** Guards `new Date()`, `Date()` and `Date.now()`. Other uses of `Date` are unchanged. */
const dateGuard: Guard = {
  install() {
    const Original = globalThis.Date;
    const now = (call: string): number => {
      const place = callerLocation();
      if (place?.kind === "code") place.onNondeterministicCall(call);
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

/** Updates the named imports of builtin modules to the current properties of the module objects. */
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
