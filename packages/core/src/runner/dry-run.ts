import type { Codec } from "../model/payload.ts";
import { factsOf } from "../model/run.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Random } from "../runtime/random.ts";
import type { Loaded } from "../store/store.ts";
import type { BrokenProgram, FinalEnding, ProgramFactory } from "../workflow/program.ts";
import type { OpenCommandView } from "./open-commands.ts";
import { ProgramDriver } from "./program-driver.ts";
import { type Divergence, divergenceOf } from "./replay.ts";
import type { SessionServices } from "./session-ports.ts";
import { createSessionState } from "./session-state.ts";
import { readSnapshot } from "./snapshot.ts";

/** Where a replay ends when no command takes effect. */
export type DryRunResult =
  | { readonly kind: "diverged"; readonly divergence: Divergence }
  /** All records were delivered; these commands are open. */
  | { readonly kind: "open"; readonly open: OpenCommandView }
  | { readonly kind: "ended"; readonly ending: FinalEnding }
  | BrokenProgram
  /** The program is being compensated. */
  | { readonly kind: "compensating" };

export interface DryRunServices {
  readonly codec: Codec;
  readonly eventLoop: EventLoop;
  readonly random: Random;
  /** Calls user code so that its unhandled rejections do not end the process. */
  watched(runId: string, call: () => void): void;
}

/** A time before every deadline. */
const NEVER = -1;
/** The number of completions delivered after the last record, to a program that only issues marks and posts. */
const STEPS_AFTER_MAX = 10_000;

/**
 * Replays a run's records without effects: no step runs and nothing is written. Marks and posts that the program issues after its last
 * record complete at once and are discarded.
 */
export function dryRun(services: DryRunServices, loaded: Loaded, createProgram: ProgramFactory): Promise<DryRunResult> {
  return new Promise((resolve, reject) => {
    let isRequested = false;
    let hasEnded = false;
    let stepsLeft = loaded.records.length + STEPS_AFTER_MAX;
    const requestIdle = (): void => {
      if (isRequested || hasEnded) return;
      isRequested = true;
      services.eventLoop.whenIdle(onIdle);
    };
    const snapshot = loaded.snapshot === null ? null : readSnapshot(services.codec, loaded.snapshot);
    const inert = inertServices(services);
    const nothing = (): void => undefined;
    const listener = {
      onFilled: nothing,
      onAdded: requestIdle,
      onAttemptEnd: nothing,
      onBlocked: nothing,
      onTransaction: nothing,
    };
    const state = createSessionState(inert, loaded, snapshot, listener);
    // No step starts while ownership is unknown.
    state.steps.requireOwnershipCheck();
    const { signal } = new AbortController();
    const owner = { signal, wake: requestIdle };
    const driver = new ProgramDriver(
      { owner, state, services: inert, run: factsOf(loaded.run) },
      loaded,
      snapshot,
      createProgram,
    );
    const finish = (result: DryRunResult): void => {
      hasEnded = true;
      resolve(result);
    };
    const onIdle = (): void => {
      isRequested = false;
      if (hasEnded || !driver.resourcesReady) return;
      try {
        const result = step(driver, state.open.byLocation, --stepsLeft);
        if (result === null) requestIdle();
        else finish(result);
      } catch (error) {
        hasEnded = true;
        reject(error);
      }
    };
    services.watched(loaded.run.id, () => driver.start(loaded.run.input));
    requestIdle();
  });
}

/** Delivers one completion. Null if the program continues. */
function step(driver: ProgramDriver, open: OpenCommandView, stepsLeft: number): DryRunResult | null {
  const result = driver.step();
  switch (result.kind) {
    case "delivered":
      return stepsLeft > 0 ? null : { kind: "open", open };
    case "stopped":
      return stepsLeft > 0 && !result.isFresh ? null : { kind: "compensating" };
    case "diverged": {
      const divergence = divergenceOf(result.error);
      if (divergence === null) throw result.error;
      return { kind: "diverged", divergence };
    }
    case "ended":
      return result.ending.kind === "compensated" ? { kind: "compensating" } : { kind: "ended", ending: result.ending };
    case "broken":
      return result;
    case "stopping":
    case "idle":
      return driver.isCompensating ? { kind: "compensating" } : { kind: "open", open };
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
    graceMs: 0,
    policyOf: () => null,
    undoChild: async () => null,
    closeChild: async () => "ended",
    onIncident: nothing,
    events: {
      onAppendReady: nothing,
      onCommitted: nothing,
      onAppendRefused: nothing,
      onInboxStale: nothing,
      onParked: nothing,
      onUnparked: nothing,
      onBlocked: nothing,
      onEnded: nothing,
    },
  };
}
