import { AsyncLocalStorage } from "node:async_hooks";
import { trackUnhandledRejections, type UnhandledRejections } from "../../runtime/unhandled-rejections.ts";

/** Where user code runs: in a workflow function (`code`), in a step body (`body`), or in another function that the engine calls. */
export interface UserCodeLocation {
  readonly kind: "code" | "body" | "other";
  /** The time that a step body reads. */
  now(): number;
  /** The next random number of a step body, in [0, 1). The sequence is the same in each schedule. */
  random(): number;
  /** A workflow function called a function whose result differs between replays. */
  onNondeterministicCall(call: string): void;
  /** An effect happened at this location. */
  onEffect(effect: string): void;
  /** A rejection at this location was not handled. */
  onUnhandledRejection(error: unknown): void;
}

/** Attributes calls and rejections to the location of the user code. */
export interface Attribution {
  /** Calls user code at a location. */
  at<Value>(place: UserCodeLocation, call: () => Value): Value;
  readonly rejections: UnhandledRejections;
  end(): void;
}

const places = new AsyncLocalStorage<UserCodeLocation>();
/** The number of exact attributions in use. */
let tracked = 0;
/** The step body that is executing, until its first await. */
let running: UserCodeLocation | undefined;
/** Callbacks of inferred attributions, called when a call or a rejection cannot be attributed. */
const unknownListeners = new Set<(rejected: readonly unknown[]) => void>();

export function currentLocation(): UserCodeLocation | undefined {
  return places.getStore() ?? running ?? (unknownListeners.size === 0 ? undefined : UNKNOWN);
}

/** Exact: code is tracked through every await. Promises cost much more on platforms that implement this with hooks. */
export function trackedAttribution(): Attribution {
  tracked += 1;
  return {
    at: (place, call) => places.run(place, call),
    rejections: trackUnhandledRejections((_, error) => currentLocation()?.onUnhandledRejection(error)),
    end() {
      this.rejections.stop();
      tracked -= 1;
      if (tracked === 0) places.disable();
    },
  };
}

/**
 * Cheap: attributes the calls of a step body until its first await. `onUnknown` is called for any other call, and for an unhandled
 * rejection.
 */
export function inferredAttribution(onUnknown: (rejected: readonly unknown[]) => void): Attribution {
  const rejections = trackUnhandledRejections((_, error) => onUnknown([error]));
  const stopWatching = rejections.unwatched("explored", () => undefined);
  unknownListeners.add(onUnknown);
  return {
    at: (place, call) => (place.kind === "body" ? untilFirstAwait(place, call) : call()),
    rejections: UNWATCHED,
    end() {
      unknownListeners.delete(onUnknown);
      stopWatching();
      rejections.stop();
    },
  };
}

const UNWATCHED: UnhandledRejections = {
  watched: (_, call) => call(),
  unwatched(_, call) {
    call();
    return () => undefined;
  },
  stop: () => undefined,
};

function untilFirstAwait<Value>(place: UserCodeLocation, call: () => Value): Value {
  const before = running;
  running = place;
  try {
    return call();
  } finally {
    running = before;
  }
}

/** The location of a call that cannot be attributed. */
const UNKNOWN: UserCodeLocation = {
  kind: "code",
  now: () => 0,
  random: () => 0,
  onNondeterministicCall: notifyUnknown,
  onEffect: notifyUnknown,
  onUnhandledRejection: notifyUnknown,
};

function notifyUnknown(): void {
  for (const onUnknown of unknownListeners) onUnknown([]);
}
