import { STORE, type World } from "../engine/config.ts";
import { kinds, readArgument } from "../model/option-check.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";

/** The commit at which a process crashes, and whether the store applies it. */
export interface CrashAt {
  readonly commit: number;
  readonly applied: boolean;
}

const CRASH_AT = kinds.nullable(kinds.record<CrashAt>("the crash", { commit: kinds.integer(1), applied: kinds.flag }));

/** The store of one process that can crash. */
export interface Crashable {
  readonly store: Store;
  readonly crashed: boolean;
  /** The number of sent commits. */
  readonly commits: number;
  /** Returns the world of the process. After the crash it calls no callback. */
  inWorld(world: World): World;
  /** Crashes the process: no further call is answered, including calls in progress. */
  crash(): void;
}

/**
 * Wraps a store for a process that can crash, as other processes observe it: the process stops sending. `at` makes it crash at that
 * commit, which is applied if `applied` is true.
 */
export function crashable(store: Store, at: CrashAt | null = null): Crashable {
  readArgument(STORE, store, "store");
  readArgument(CRASH_AT, at, "at");
  let crashed = false;
  let commits = 0;
  const faulty = intercepted(store, async (call, proceed) => {
    if (crashed) return await never();
    if (call.method === "commit") commits += 1;
    const isLast = call.method === "commit" && commits === at?.commit;
    if (isLast) crashed = true;
    if (isLast && at?.applied === false) return await never();
    const answer = await proceed();
    return crashed ? await never() : answer;
  });
  return {
    store: { ...faulty, watch: (listener) => store.watch((hint) => (crashed ? undefined : listener(hint))) },
    get crashed() {
      return crashed;
    },
    get commits() {
      return commits;
    },
    inWorld({ clock, random, eventLoop }) {
      const alive = (callback: () => void) => (): void => (crashed ? undefined : callback());
      return {
        random,
        clock: { now: () => clock.now(), wakeAt: (at, callback) => clock.wakeAt(at, alive(callback)) },
        eventLoop: {
          whenIdle: (callback) => eventLoop.whenIdle(alive(callback)),
          afterTurn: (callback) => eventLoop.afterTurn(alive(callback)),
        },
      };
    },
    crash() {
      crashed = true;
    },
  };
}

/** A promise that never settles. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
