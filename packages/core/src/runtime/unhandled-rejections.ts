import type { AsyncLocalStorage } from "node:async_hooks";
import { type AsyncContext, EMPTY_CONTEXT } from "./async-context.ts";
import { builtinModule, nodeProcess } from "./platform.ts";

interface RunContext {
  readonly runId: string;
  /** The location of the step whose body is running. Null in workflow code. */
  readonly step: string | null;
  readonly onRejection: (runId: string, error: unknown) => void;
}

/** The run that the current user code belongs to. Shared by all engines of the process, because they share one `unhandledRejection` listener. */
const current: AsyncLocalStorage<RunContext> | null = createStorage();
/** Runs whose code is executed unwatched, newest last. */
const unwatched = new Set<RunContext>();
let users = 0;

/** Attributes unhandled rejections of user code to their runs. An attributed rejection is reported and does not end the process. */
export interface UnhandledRejections {
  /**
   * Calls user code in `context`, by default the empty one, and attributes its unhandled rejections, and those of its continuations, to the
   * run. `step` is the location of the step whose body is called, for `runningStep`.
   */
  watched(runId: string, call: () => void, context?: AsyncContext, step?: string): void;
  /**
   * Calls user code in the empty context without watching it, which makes its promises cost half as much. Until the returned function is
   * called, a rejection that belongs to no watched run is attributed to this run.
   */
  unwatched(runId: string, call: () => void): () => void;
  stop(): void;
}

export type TrackRejections = (onRejection: (runId: string, error: unknown) => void) => UnhandledRejections;

/** Adds its process listener at the first call of user code, so that a process without user code is not changed. */
export function trackUnhandledRejections(onRejection: RunContext["onRejection"]): UnhandledRejections {
  let state: "idle" | "listening" | "stopped" = "idle";
  const listen = (): void => {
    if (state !== "idle") return;
    state = "listening";
    if (users === 0) nodeProcess?.on("unhandledRejection", onUnhandledRejection);
    users += 1;
  };
  return {
    watched(runId, call, context = EMPTY_CONTEXT, step) {
      listen();
      if (current === null) context.runInAsyncScope(call);
      else context.runInAsyncScope(() => current.run({ runId, onRejection, step: step ?? null }, call));
    },
    unwatched(runId, call) {
      listen();
      const context = { runId, onRejection, step: null };
      unwatched.add(context);
      EMPTY_CONTEXT.runInAsyncScope(call);
      return () => unwatched.delete(context);
    },
    stop() {
      const wasListening = state === "listening";
      state = "stopped";
      if (!wasListening) return;
      for (const context of unwatched) if (context.onRejection === onRejection) unwatched.delete(context);
      users -= 1;
      if (users > 0) return;
      nodeProcess?.off("unhandledRejection", onUnhandledRejection);
      // On Node versions that implement it with hooks, every promise of the process would cost more.
      current?.disable();
    },
  };
}

/** Returns the location of the step whose body, or a continuation of it, is the caller. Null on a platform without async contexts. */
export function runningStep(): string | null {
  return current?.getStore()?.step ?? null;
}

/** Returns null if the platform has no async context. It then reports unhandled rejections by itself. */
function createStorage(): AsyncLocalStorage<RunContext> | null {
  const hooks = builtinModule<typeof import("node:async_hooks")>("node:async_hooks");
  return hooks === null ? null : new hooks.AsyncLocalStorage<RunContext>();
}

function onUnhandledRejection(error: unknown): void {
  const context = current?.getStore() ?? [...unwatched].at(-1);
  if (context !== undefined) {
    context.onRejection(context.runId, error);
    return;
  }
  // The rejection belongs to no run. As without our listener, it ends the process unless the application listens.
  if (nodeProcess?.listenerCount("unhandledRejection") === 1) throw error;
}
