import { CodeCtx } from "../../runner/code-ctx.ts";
import type { Ctx } from "../../workflow/ctx.ts";

/** Hears what a workflow's function asks of its ctx, and whether it waits for it. */
export interface CtxWatch {
  /** Called around each call: in `call` commands are issued. `isTried`: a failure of it is a value to the code. */
  calling<Value>(isTried: boolean, call: () => Value): Value;
  /** A call was made whose answer can be waited for; what is given is called when somebody does. */
  asked(what: string): () => void;
}

/** Calls whose last arguments are code with a ctx of its own, and those in which a failure is a value. */
const WITH_BRANCHES: ReadonlySet<string> = new Set(["join", "race", "loop", "try"]);
const TRIES: ReadonlySet<string> = new Set(["tryStep"]);
const TRIES_INSIDE: ReadonlySet<string> = new Set(["try", "race"]);

/** The ctx, and those of its branches, with someone who watches. */
export function watchedCtx(ctx: Ctx, watch: CtxWatch, isTried = false): Ctx {
  return new Proxy(ctx, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function" || typeof key !== "string") return member;
      return (...args: unknown[]): unknown => {
        const inside = isTried || TRIES_INSIDE.has(key);
        const given = WITH_BRANCHES.has(key) ? args.map((arg) => withWatchedBranches(arg, watch, inside)) : args;
        const answer = watch.calling(isTried || TRIES.has(key), () => Reflect.apply(member, target, given) as unknown);
        return answer instanceof Promise ? watchedPromise(answer, watch.asked(described(key, args))) : answer;
      };
    },
  });
}

function described(method: string, [first]: readonly unknown[]): string {
  const name = typeof first === "string" ? first : (first as { name?: unknown } | null | undefined)?.name;
  return `ctx.${method}(${typeof name === "string" ? JSON.stringify(name) : ""})`;
}

/** Whoever waits for a promise asks for one of its members first. */
function watchedPromise(promise: Promise<unknown>, onAwaited: () => void): unknown {
  return new Proxy(promise, {
    get(target, key) {
      onAwaited();
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? (member as (...args: unknown[]) => unknown).bind(target) : member;
    },
  });
}

function withWatchedBranches(arg: unknown, watch: CtxWatch, isTried: boolean): unknown {
  if (typeof arg === "function") return watchedBranch(arg as (...args: unknown[]) => unknown, watch, isTried);
  if (typeof arg !== "object" || arg === null) return arg;
  return Object.fromEntries(Object.entries(arg).map(([key, value]) => [key, watchedFunction(value, watch, isTried)]));
}

function watchedFunction(value: unknown, watch: CtxWatch, isTried: boolean): unknown {
  return typeof value === "function" ? watchedBranch(value as (...args: unknown[]) => unknown, watch, isTried) : value;
}

function watchedBranch(
  branch: (...args: unknown[]) => unknown,
  watch: CtxWatch,
  isTried: boolean,
): (...args: unknown[]) => unknown {
  return (...args) => branch(...args.map((arg) => (arg instanceof CodeCtx ? watchedCtx(arg, watch, isTried) : arg)));
}
