import type { Codec } from "../model/payload.ts";
import { factsOf } from "../model/run.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Random } from "../runtime/random.ts";
import type { Loaded } from "../store/store.ts";
import type { Ending, ProgramFactory } from "../workflow/program.ts";
import { createSessionState } from "./create-session-state.ts";
import type { OpenCommandView } from "./open-commands.ts";
import { ProgramDriver } from "./program-driver.ts";
import { type Divergence, divergenceOf } from "./replay.ts";
import type { SessionServices } from "./session-ports.ts";
import { readSnapshot } from "./snapshot.ts";

/** Where a program comes to when it is fed a journal and nothing it asks for takes effect. */
export type DryRunResult =
  | { readonly kind: "diverged"; readonly divergence: Divergence }
  /** All records were delivered: this is what it asks for then. */
  | { readonly kind: "asks"; readonly open: OpenCommandView }
  | { readonly kind: "ended"; readonly ending: Ending }
  /** What it did is being undone. */
  | { readonly kind: "undoing" };

export interface DryRunServices {
  readonly codec: Codec;
  readonly eventLoop: EventLoop;
  readonly random: Random;
  /** Calls user code so that what goes astray in it ends no process. */
  watched(runId: string, call: () => void): void;
}

/** Before every time at which something may be due. */
const NEVER = -1;
/** How often a program that asks only for what completes at once is moved on after its last record. */
const MOVES_AFTER_MAX = 10_000;

/**
 * Feeds a run's records to its program. No body runs and nothing is written: notes and posts that the program asks for after
 * its last record complete at once, and go nowhere.
 */
export function dryRun(world: DryRunServices, loaded: Loaded, createProgram: ProgramFactory): Promise<DryRunResult> {
  return new Promise((resolve, reject) => {
    let isAsked = false;
    let isOver = false;
    let movesLeft = loaded.records.length + MOVES_AFTER_MAX;
    const askRest = (): void => {
      if (isAsked || isOver) return;
      isAsked = true;
      world.eventLoop.whenIdle(rest);
    };
    const snapshot = loaded.snapshot === null ? null : readSnapshot(world.codec, loaded.snapshot);
    const inert = inertServices(world);
    const nothing = (): void => undefined;
    const listener = { onFilled: nothing, onAdded: askRest, onAttemptEnd: nothing, onTransaction: nothing };
    const session = createSessionState(inert, loaded, snapshot, listener);
    // No body begins: the run may be another's, now as ever.
    session.steps.requireOwnershipCheck();
    const { signal } = new AbortController();
    const owner = { signal, wake: askRest };
    const driver = new ProgramDriver(
      { owner, state: session, services: inert, run: factsOf(loaded.run) },
      loaded,
      snapshot,
      createProgram,
    );
    const over = (result: DryRunResult): void => {
      isOver = true;
      resolve(result);
    };
    const rest = (): void => {
      isAsked = false;
      if (isOver || !driver.resourcesReady) return;
      try {
        const result = moved(driver, session.open.byLocation, --movesLeft);
        if (result === null) askRest();
        else over(result);
      } catch (error) {
        isOver = true;
        reject(error);
      }
    };
    world.watched(loaded.run.id, () => driver.start(loaded.run.input));
    askRest();
  });
}

/** Moves the program on once; null: it goes on. */
function moved(driver: ProgramDriver, open: OpenCommandView, movesLeft: number): DryRunResult | null {
  const move = driver.step();
  switch (move.kind) {
    case "handed":
      return movesLeft > 0 ? null : { kind: "asks", open };
    case "stopped":
      return movesLeft > 0 && !move.isFresh ? null : { kind: "undoing" };
    case "diverged": {
      const divergence = divergenceOf(move.error);
      if (divergence === null) throw move.error;
      return { kind: "diverged", divergence };
    }
    case "ended":
      return move.ending.kind === "completed" || move.ending.kind === "failed" || move.ending.kind === "continued"
        ? { kind: "ended", ending: move.ending as Ending }
        : { kind: "undoing" };
    case "idle":
      return driver.isCompensating ? { kind: "undoing" } : { kind: "asks", open };
  }
}

function inertServices({ codec, eventLoop, random, watched }: DryRunServices): SessionServices {
  const nothing = (): void => undefined;
  const never = (): (() => void) => nothing;
  return {
    time: {
      now: () => NEVER,
      hasPassed: () => false,
      wakeAt: never,
      clock: { now: () => NEVER, wakeAt: never },
      eventLoop,
    },
    random,
    codec,
    log: nothing,
    rejections: {
      watched,
      unwatched: (runId, call) => {
        watched(runId, call);
        return nothing;
      },
    },
    releases: null,
    policyOf: () => null,
    undoChild: async () => null,
    events: {
      onAppendReady: nothing,
      onCommitted: nothing,
      onAppendRefused: nothing,
      onInboxStale: nothing,
      onParked: nothing,
      onUnparked: nothing,
      onEnded: nothing,
    },
  };
}
