import type { EngineOptions, World } from "../../engine/config.ts";
import { createEngine, type Engine } from "../../engine/engine.ts";
import type { Store } from "../../store/store.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import type { StoreCall } from "../intercepted.ts";
import type { ExploreWorld } from "./explore-world.ts";
import { type Caller, faultyStore } from "./faulty-store.ts";
import type { RunObservations } from "./run-observations.ts";
import type { CallFault, Fault, Schedule } from "./schedule.ts";
import type { Attribution, UserCodeLocation } from "./user-code-location.ts";

const DAY_MS = 86_400_000;
/** Heartbeats and polls never become due: their interval is longer than any sleep of a workflow. */
const INTERVAL_MS = 36_500 * DAY_MS;
/** The duration of a slow call. */
const DELAY_MS = 5_000;

/**
 * Engine options of processes. The explorer retires workers itself, so no lease has to expire. Durations are numbers, because each
 * schedule creates several engines and parsing texts costs time.
 */
export const SETTINGS: Omit<EngineOptions, "store"> = {
  poll: INTERVAL_MS,
  lease: INTERVAL_MS,
  eventRetention: 7 * DAY_MS,
  claimsMax: 1_000,
  // The client's clock jumps with the store's: a timeout would expire although the store answers.
  storageTimeout: INTERVAL_MS,
  log: () => undefined,
};

export interface ProcessParts {
  readonly world: ExploreWorld;
  readonly store: Store;
  readonly schedule: Schedule;
  readonly notes: RunObservations;
  readonly attribution: Attribution;
  /** The location of user code that is neither a workflow function nor a step body. */
  readonly otherCode: UserCodeLocation;
  /** Changes the store's clock by `ms`. */
  setClock(ms: number): void;
}

/** A process with an engine that executes the run. */
export class Process implements Caller {
  readonly name: string;
  readonly #parts: ProcessParts;
  #engine: Engine | null = null;
  #shutdown: Promise<void> | null = null;
  /** Resumes a call that waits until another process has taken over. Null if no call waits. */
  #paused: (() => void) | null = null;
  isDead = false;
  /** A step body hangs, so the process is ended when nothing else can happen. */
  isHung = false;
  outage = 0;
  workerId: string | null = null;

  constructor(name: string, parts: ProcessParts) {
    this.name = name;
    this.#parts = parts;
  }

  start(workflows: readonly AnyWorkflow[]): void {
    const { store, schedule } = this.#parts;
    const { faults } = schedule;
    void createEngine({
      ...SETTINGS,
      workflows,
      store: faultyStore(store, this, faults),
      world: this.#world(),
    }).then((engine) => {
      this.#engine = engine;
    });
  }

  /** True if another process must take over. */
  get isLeaving(): boolean {
    return this.isDead || this.isHung || this.#shutdown !== null || this.#paused !== null;
  }

  /** Makes the runs of the process claimable. A paused process continues later without knowing it. */
  async retire(): Promise<void> {
    if (this.#paused === null) this.isDead = true;
    if (this.workerId !== null) await this.#parts.store.retire(this.workerId);
  }

  /** Resumes a paused process. Returns false if it was not paused. */
  unpause(): boolean {
    const resume = this.#paused;
    this.#paused = null;
    resume?.();
    if (resume !== null) this.#parts.notes.log(() => `${this.name} resumes, unaware that its lease expired`);
    return resume !== null;
  }

  /** Polls for due runs, as a worker does once per poll interval. */
  poll(): void {
    this.#engine?.recover().catch(() => undefined);
  }

  called({ method }: StoreCall): ReadonlyArray<CallFault> {
    const { notes, schedule } = this.#parts;
    notes.calls += 1;
    const { calls } = notes;
    const faults = schedule.faults.filter((fault) => "call" in fault && fault.call === calls);
    for (const { kind } of faults)
      if (kind !== "crash") notes.log(() => `${this.name}: ${FAULT_TEXTS[kind] ?? kind} (${method})`);
    return faults as ReadonlyArray<CallFault>;
  }

  applied({ batch }: StoreCall): void {
    const { notes } = this.#parts;
    for (const transition of batch) {
      if (transition.kind !== "append") continue;
      if (transition.records.some(({ kind }) => kind === "checkpoint")) notes.hasCheckpoint = true;
    }
  }

  crash(when: string): void {
    this.isDead = true;
    this.#parts.notes.log(() => `${this.name} crashes ${when}`);
  }

  shutDown(): void {
    this.#shutdown ??= this.#engine?.shutdown({ drainMs: 0 }) ?? null;
  }

  setClock(ms: number): void {
    this.#parts.setClock(ms);
  }

  delay(): Promise<void> {
    const { clock } = this.#parts.world;
    return new Promise((resolve) => {
      clock.wakeAt(clock.now() + DELAY_MS, resolve);
    });
  }

  untilTakenOver(): Promise<void> {
    return new Promise((resolve) => {
      this.#paused = resolve;
    });
  }

  #world(): World {
    const { world, schedule, attribution, otherCode } = this.#parts;
    const { rejections } = attribution;
    const skewMs = schedule.faults.find((fault) => fault.kind === "skew")?.ms ?? 0;
    const alive = (callback: () => void) => (): void => (this.isDead ? undefined : callback());
    return {
      random: world.random,
      clock: {
        now: () => world.clock.now() + skewMs,
        wakeAt: (at, callback) => world.clock.wakeAt(at - skewMs, alive(callback)),
      },
      eventLoop: {
        whenIdle: (callback) => world.eventLoop.whenIdle(alive(callback)),
        afterTurn: (callback) => world.eventLoop.afterTurn(alive(callback)),
      },
      trackRejections: () => ({
        watched: (runId, call, context, step) =>
          rejections.watched(runId, () => attribution.at(otherCode, call), context, step),
        unwatched: (runId, call) => rejections.unwatched(runId, () => attribution.at(otherCode, call)),
        stop: () => undefined,
      }),
    };
  }
}

const FAULT_TEXTS: Partial<Record<Fault["kind"], string>> = {
  error: "a store call fails",
  delay: "a store call takes 5 s",
  outage: "the next store calls fail",
  pause: "the process pauses until its lease expires",
  shutdown: "the process is shut down",
  clockJump: "the store's clock jumps",
};
