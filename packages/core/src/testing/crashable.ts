import { CODEC_DOCUMENT } from "../engine/codec-check.ts";
import { STORE, type World } from "../engine/config.ts";
import { kinds, readArgument } from "../model/option-check.ts";
import type { Transition } from "../model/transition.ts";
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
    const isCounted = call.method === "commit" && !call.batch.every(isCodecCheck);
    if (isCounted) commits += 1;
    const isLast = isCounted && commits === at?.commit;
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

/** The first engine of a store writes it before it opens. Tests count the commits of an open engine. */
function isCodecCheck(transition: Transition): boolean {
  return transition.kind === "revise" && transition.document.kind === CODEC_DOCUMENT.kind;
}

/** A promise that never settles. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
