import { currentPlace, type Place } from "./place.ts";

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
  if (users === 0) restore = GUARDS.map((guard) => guard.install());
  users += 1;
  let isOn = true;
  return () => {
    if (!isOn) return;
    isOn = false;
    users -= 1;
    if (users === 0) for (const each of restore.splice(0).reverse()) each();
  };
}

/** The place of the code that called, if it is one whose calls count. */
function callersPlace(): Place | undefined {
  const place = currentPlace();
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

/** In code it is told of and done; in a body `inBody` does it. */
function guarded<Args extends readonly unknown[], Value>(
  owner: object,
  name: string,
  says: string,
  inBody: ((place: Place, args: Args) => Value) | null,
): Guard {
  return {
    install() {
      const before = Object.getOwnPropertyDescriptor(owner, name);
      const original = Reflect.get(owner, name) as unknown;
      if (typeof original !== "function") return () => undefined;
      const value = function (this: unknown, ...args: Args): unknown {
        const place = callersPlace();
        if (place?.kind === "code") place.strayed(says);
        if (place?.kind === "body" && inBody !== null) return inBody(place, args);
        return Reflect.apply(original, this === undefined ? owner : this, args);
      };
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

function uuid(place: Place): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(place.random() * 16).toString(16)).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

const GUARDS: readonly Guard[] = [
  stackGuard,
  dateGuard,
  guarded(Math, "random", "Math.random()", (place) => place.random()),
  guarded(performance, "now", "performance.now()", (place) => place.now()),
  guarded(globalThis.crypto, "randomUUID", "crypto.randomUUID()", (place) => uuid(place)),
  guarded(globalThis.crypto, "getRandomValues", "crypto.getRandomValues()", null),
  guarded(globalThis, "setTimeout", "setTimeout()", null),
  guarded(globalThis, "setInterval", "setInterval()", null),
  guarded(globalThis, "setImmediate", "setImmediate()", null),
  guarded(globalThis, "fetch", "fetch()", null),
];
