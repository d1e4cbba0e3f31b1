import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule, nodeProcess } from "./platform.ts";

interface RunContext {
  readonly runId: string;
  readonly onStray: (runId: string, error: unknown) => void;
}

/** Which run the user code at hand works for. One for all engines of the process: the listener below has to be the only one of ours. */
const place: AsyncLocalStorage<RunContext> | null = createPlace();
/** Where code is at work that is not watched, the latest last. */
const unwatched = new Set<RunContext>();
let users = 0;

/** Knows which run a piece of user code works for, so that a rejection that nobody handles is told of with its run and ends no process. */
export interface UnhandledRejections {
  /** Calls user code and watches it, and everything that comes of it. */
  watched(runId: string, call: () => void): void;
  /**
   * Calls user code without watching it, which makes promises cost half as much. Until the returned function is called, a
   * rejection that is not known to be anybody's is taken for one of the run's.
   */
  unwatched(runId: string, call: () => void): () => void;
  stop(): void;
}

export type TrackRejections = (onStray: (runId: string, error: unknown) => void) => UnhandledRejections;

/** Listens from the first call of user code on: a process that makes none is not touched. */
export function trackUnhandledRejections(onStray: RunContext["onStray"]): UnhandledRejections {
  let state: "idle" | "listening" | "stopped" = "idle";
  const listen = (): void => {
    if (state !== "idle") return;
    state = "listening";
    if (users === 0) nodeProcess?.on("unhandledRejection", caught);
    users += 1;
  };
  return {
    watched(runId, call) {
      listen();
      if (place === null) call();
      else place.run({ runId, onStray }, call);
    },
    unwatched(runId, call) {
      listen();
      const there = { runId, onStray };
      unwatched.add(there);
      call();
      return () => unwatched.delete(there);
    },
    stop() {
      const wasListening = state === "listening";
      state = "stopped";
      if (!wasListening) return;
      for (const there of unwatched) if (there.onStray === onStray) unwatched.delete(there);
      users -= 1;
      if (users > 0) return;
      nodeProcess?.off("unhandledRejection", caught);
      // Where it is done by hooks, every promise of the process pays for them.
      place?.disable();
    },
  };
}

/** Where the platform can't tell, a rejection that nobody handles is the platform's to tell of. */
function createPlace(): AsyncLocalStorage<RunContext> | null {
  const hooks = builtinModule<typeof import("node:async_hooks")>("node:async_hooks");
  return hooks === null ? null : new hooks.AsyncLocalStorage<RunContext>();
}

function caught(error: unknown): void {
  const there = place?.getStore() ?? [...unwatched].at(-1);
  if (there !== undefined) {
    there.onStray(there.runId, error);
    return;
  }
  // Not a run's: it goes its usual way, which is to end the process unless somebody else listens.
  if (nodeProcess?.listenerCount("unhandledRejection") === 1) throw error;
}
