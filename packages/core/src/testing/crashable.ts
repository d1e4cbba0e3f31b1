import type { World } from "../engine/config.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";

/** The commit at which a process ends, and whether the store applies it still. */
export interface CrashAt {
  readonly commit: number;
  readonly applied: boolean;
}

/** A store as one process has it, and what ends that process. */
export interface Crashable {
  readonly store: Store;
  readonly crashed: boolean;
  /** How many commits have been sent. */
  readonly commits: number;
  /** The world as the process has it: when it has crashed, nothing calls back any more. */
  inWorld(world: World): World;
  /** From here on no call is answered, not even one that is under way. */
  crash(): void;
}

/**
 * A crash, as everybody else sees it: a process that says nothing any more. `at` lets it happen at that commit, which is
 * still applied when `applied` is true.
 */
export function crashable(store: Store, at: CrashAt | null = null): Crashable {
  let crashed = false;
  let commits = 0;
  const through = intercepted(store, async (call, proceed) => {
    if (crashed) return await never();
    if (call.method === "commit") commits += 1;
    const last = call.method === "commit" && commits === at?.commit;
    if (last) crashed = true;
    if (last && at?.applied === false) return await never();
    const answer = await proceed();
    return crashed ? await never() : answer;
  });
  return {
    store: { ...through, watch: (listener) => store.watch((hint) => (crashed ? undefined : listener(hint))) },
    get crashed() {
      return crashed;
    },
    get commits() {
      return commits;
    },
    inWorld({ clock, random, eventLoop: turns }) {
      const alive = (callback: () => void) => (): void => (crashed ? undefined : callback());
      return {
        random,
        clock: { now: () => clock.now(), wakeAt: (at, callback) => clock.wakeAt(at, alive(callback)) },
        eventLoop: {
          whenIdle: (callback) => turns.whenIdle(alive(callback)),
          afterTurn: (callback) => turns.afterTurn(alive(callback)),
        },
      };
    },
    crash() {
      crashed = true;
    },
  };
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
