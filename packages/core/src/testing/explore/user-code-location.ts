import { AsyncLocalStorage } from "node:async_hooks";
import { trackUnhandledRejections, type UnhandledRejections } from "../../runtime/unhandled-rejections.ts";

/** Where user code is at work: in a workflow's function, in the body of a step, or in what else an engine calls. */
export interface UserCodeLocation {
  readonly kind: "code" | "body" | "other";
  /** Time, as it is there. */
  now(): number;
  /** In [0, 1). In a body: repeatable. */
  random(): number;
  /** Something that is not the same in every replay was asked for in a workflow's function. */
  strayed(what: string): void;
  /** An effect happened there. */
  note(what: string): void;
  /** Something was rejected there, and nobody handles it. */
  unhandled(error: unknown): void;
}

/** How it is known at which place a call is made. */
export interface Attribution {
  at<Value>(place: UserCodeLocation, call: () => Value): Value;
  readonly strays: UnhandledRejections;
  end(): void;
}

const places = new AsyncLocalStorage<UserCodeLocation>();
let followers = 0;
/** The body that is at work, as far as its first wait. */
let running: UserCodeLocation | undefined;
/** Told when a call is made and it is not known where. */
const doubts = new Set<(rejected: readonly unknown[]) => void>();

export function currentLocation(): UserCodeLocation | undefined {
  return places.getStore() ?? running ?? (doubts.size === 0 ? undefined : DOUBTFUL);
}

/** Code is followed through all that it waits for. It is exact; and where the platform does it by hooks, promises cost much more. */
export function trackedAttribution(): Attribution {
  followers += 1;
  return {
    at: (place, call) => places.run(place, call),
    strays: trackUnhandledRejections((_, error) => currentLocation()?.unhandled(error)),
    end() {
      this.strays.stop();
      followers -= 1;
      if (followers === 0) places.disable();
    },
  };
}

/** A body is known as far as its first wait. Any other call, and a rejection that nobody handles, is in doubt. */
export function inferredAttribution(onDoubt: (rejected: readonly unknown[]) => void): Attribution {
  const strays = trackUnhandledRejections((_, error) => onDoubt([error]));
  const over = strays.unwatched("explored", () => undefined);
  doubts.add(onDoubt);
  return {
    at: (place, call) => (place.kind === "body" ? asFarAsItsFirstWait(place, call) : call()),
    strays: UNWATCHED,
    end() {
      doubts.delete(onDoubt);
      over();
      strays.stop();
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

function asFarAsItsFirstWait<Value>(place: UserCodeLocation, call: () => Value): Value {
  const before = running;
  running = place;
  try {
    return call();
  } finally {
    running = before;
  }
}

const DOUBTFUL: UserCodeLocation = {
  kind: "code",
  now: () => 0,
  random: () => 0,
  strayed: doubt,
  note: doubt,
  unhandled: doubt,
};

function doubt(): void {
  for (const onDoubt of doubts) onDoubt([]);
}
