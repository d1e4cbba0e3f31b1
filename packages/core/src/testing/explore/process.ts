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
/** Longer than workflows sleep: beats and polls would be timers like any other. */
const SELDOM_MS = 36_500 * DAY_MS;
const LATE_MS = 5_000;

/** How engines are set up in a world where nobody has to wait for a lease to end. In ms: each schedule makes several engines. */
export const SETTINGS: Omit<EngineOptions, "store"> = {
  poll: SELDOM_MS,
  lease: SELDOM_MS,
  eventRetention: 7 * DAY_MS,
  claimsMax: 1_000,
  log: () => undefined,
};

export interface ProcessParts {
  readonly world: ExploreWorld;
  readonly store: Store;
  readonly schedule: Schedule;
  readonly notes: RunObservations;
  readonly whose: Attribution;
  /** Where user code is at work that is neither a workflow's function nor a body. */
  readonly elsewhere: UserCodeLocation;
  /** The store's clock is set. */
  setClock(ms: number): void;
}

/** One process that works on the run, until it ends. */
export class Process implements Caller {
  readonly name: string;
  readonly #parts: ProcessParts;
  #engine: Engine | null = null;
  #shutdown: Promise<void> | null = null;
  /** A call that waits until others have taken this process for dead. */
  #paused: (() => void) | null = null;
  isDead = false;
  /** A body hangs, so it is ended when nothing else happens. */
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

  /** Whether another has to take its place. */
  get isLeaving(): boolean {
    return this.isDead || this.isHung || this.#shutdown !== null || this.#paused !== null;
  }

  /** Its runs are free for others. One that was taken for dead goes on, not knowing it. */
  async bury(): Promise<void> {
    if (this.#paused === null) this.isDead = true;
    if (this.workerId !== null) await this.#parts.store.retire(this.workerId);
  }

  /** It goes on where it was paused; false: it was not. */
  unpause(): boolean {
    const go = this.#paused;
    this.#paused = null;
    go?.();
    if (go !== null) this.#parts.notes.tell(() => `${this.name} goes on, and does not know that it was taken for dead`);
    return go !== null;
  }

  /** It looks for work, as it does every now and then. */
  nudge(): void {
    this.#engine?.recover().catch(() => undefined);
  }

  called({ method }: StoreCall): ReadonlyArray<CallFault> {
    const { notes, schedule } = this.#parts;
    notes.calls += 1;
    const { calls } = notes;
    const faults = schedule.faults.filter((fault) => "call" in fault && fault.call === calls);
    for (const { kind } of faults)
      if (kind !== "crash") notes.tell(() => `${this.name}: ${SAID[kind] ?? kind} (${method})`);
    return faults as ReadonlyArray<CallFault>;
  }

  applied({ batch }: StoreCall): void {
    const { notes } = this.#parts;
    for (const transition of batch) {
      if (transition.kind !== "append") continue;
      if (transition.records.some(({ kind }) => kind === "checkpoint")) notes.hasCheckpoint = true;
    }
  }

  crash(how: string): void {
    this.isDead = true;
    this.#parts.notes.tell(() => `${this.name} ends ${how}`);
  }

  shutDown(): void {
    this.#shutdown ??= this.#engine?.shutdown({ drainMs: 0 }) ?? null;
  }

  setClock(ms: number): void {
    this.#parts.setClock(ms);
  }

  late(): Promise<void> {
    const { clock } = this.#parts.world;
    return new Promise((resolve) => {
      clock.wakeAt(clock.now() + LATE_MS, resolve);
    });
  }

  takenForDead(): Promise<void> {
    return new Promise((resolve) => {
      this.#paused = resolve;
    });
  }

  #world(): World {
    const { world, schedule, whose, elsewhere } = this.#parts;
    const { strays } = whose;
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
        watched: (runId, call) => strays.watched(runId, () => whose.at(elsewhere, call)),
        unwatched: (runId, call) => strays.unwatched(runId, () => whose.at(elsewhere, call)),
        stop: () => undefined,
      }),
    };
  }
}

const SAID: Partial<Record<Fault["kind"], string>> = {
  error: "a call to the store fails",
  delay: "a call to the store takes 5 s",
  outage: "the store can't be reached for a while",
  pause: "it says nothing for so long that it is taken for dead",
  shutdown: "it is shut down",
  clockJump: "the store's clock is set",
};
