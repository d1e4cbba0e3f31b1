import { CodeCtx } from "../../runner/code-ctx.ts";
import type { Ctx } from "../../workflow/ctx.ts";

/** Observes the ctx calls of a workflow function and whether their results are awaited. */
export interface CtxWatch {
  /** Makes a ctx call, which issues its commands synchronously. `isTried` is true if the code receives a failure as a value. */
  calling<Value>(isTried: boolean, call: () => Value): Value;
  /** A call returned a promise. The returned function is called when the promise is awaited. */
  called(call: string): () => void;
}

/** Methods whose arguments contain functions that receive a ctx. */
const WITH_BRANCHES: ReadonlySet<string> = new Set(["join", "race", "loop", "try", "map"]);
/** Methods that return a failure as a value. */
const TRIES: ReadonlySet<string> = new Set(["tryStep"]);
const TRIES_INSIDE: ReadonlySet<string> = new Set(["try", "race"]);

/** Returns a proxy of the ctx that reports its calls, and those of its branches, to `watch`. */
export function watchedCtx(ctx: Ctx, watch: CtxWatch, isTried = false): Ctx {
  return new Proxy(ctx, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function" || typeof key !== "string") return member;
      return (...args: unknown[]): unknown => {
        const inside = isTried || TRIES_INSIDE.has(key) || returnsFailures(key, args[3]);
        const wrapped = WITH_BRANCHES.has(key)
          ? args.map((arg) => withWatchedBranches(arg, watch, inside, key === "map"))
          : args;
        const answer = watch.calling(
          isTried || TRIES.has(key),
          () => Reflect.apply(member, target, wrapped) as unknown,
        );
        return answer instanceof Promise ? watchedPromise(answer, watch.called(describedCall(key, args))) : answer;
      };
    },
  });
}

function returnsFailures(method: string, options: unknown): boolean {
  return method === "map" && (options as { failures?: unknown } | null | undefined)?.failures === "return";
}

function describedCall(method: string, [first]: readonly unknown[]): string {
  const name = typeof first === "string" ? first : (first as { name?: unknown } | null | undefined)?.name;
  return `ctx.${method}(${typeof name === "string" ? JSON.stringify(name) : ""})`;
}

/** An await reads a member of the promise first, so a read of any member counts as awaited. */
function watchedPromise(promise: Promise<unknown>, onAwaited: () => void): unknown {
  return new Proxy(promise, {
    get(target, key) {
      onAwaited();
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? (member as (...args: unknown[]) => unknown).bind(target) : member;
    },
  });
}

/** Branches are functions, or have a function `run`. They are an argument, or in a list or an object. The items of a map are data. */
function withWatchedBranches(arg: unknown, watch: CtxWatch, isTried: boolean, isMap: boolean): unknown {
  const watched = (value: unknown): unknown => {
    if (typeof value === "function") return watchedBranch(value as (...args: unknown[]) => unknown, watch, isTried);
    if (typeof value !== "object" || value === null) return value;
    const { run } = value as { readonly run?: unknown };
    return typeof run === "function" ? { ...value, run: watched(run) } : value;
  };
  if (isMap && typeof arg !== "function") return arg;
  if (Array.isArray(arg)) return arg.map(watched);
  if (typeof arg !== "object" || arg === null) return watched(arg);
  return Object.fromEntries(Object.entries(arg).map(([key, value]) => [key, watched(value)]));
}

function watchedBranch(
  branch: (...args: unknown[]) => unknown,
  watch: CtxWatch,
  isTried: boolean,
): (...args: unknown[]) => unknown {
  return (...args) => branch(...args.map((arg) => (arg instanceof CodeCtx ? watchedCtx(arg, watch, isTried) : arg)));
}
