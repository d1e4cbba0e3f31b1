import type { Run } from "../model/run.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Turns } from "../runtime/turns.ts";
import type { DueRun, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { type Retention, tidy } from "./tidy.ts";

export interface OwnershipSettings {
  readonly worker: string;
  readonly workflows: readonly WorkflowRef[];
  /** How long a worker that says nothing is taken for alive. */
  readonly leaseMs: number;
  /** How often the store is asked, whatever hints come. */
  readonly pollMs: number;
  /** Runs taken at once. */
  readonly claimMax: number;
  readonly retention: Retention;
}

/** After this many claims without progress a run is taken for one that may end its worker: it is not worked on beside another such. */
export const SUSPECT_CLAIMS = 2;

/** How often old rows are removed, in time and in polls, whichever is longer; how many of a kind at a time; and when there is more. */
const TIDY_MS = 60_000;
const TIDY_POLLS = 60;
const TIDY_MAX = 200;
const TIDY_AGAIN_MS = 200;

export interface OwnershipParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly log: Log;
  /** Makes a call until it reaches the store, by the storage retry policy. */
  readonly reaching: <T>(call: () => Promise<T>) => Promise<T>;
  /** How many more runs this worker can work on. */
  readonly room: () => number;
  /** How many more of those it can take that were claimed `SUSPECT_CLAIMS` times without progress. */
  readonly suspectRoom: () => number;
  readonly onClaimed: (runs: readonly Run[]) => void;
  /** Runs that this worker owns are due, or something has come for them. */
  readonly onDue: (runs: readonly DueRun[]) => void;
  /** The worker was taken for dead: every run it held may have another owner. */
  readonly onLapsed: () => void;
  /** What the store says that this worker holds: asked at each beat, and when an answer to a claim was lost. */
  readonly onHeld: (held: ReadonlyArray<{ readonly id: string; readonly epoch: number }>) => void;
}

export interface Round {
  readonly claimed: number;
  readonly due: number;
}

/**
 * Which runs this worker may write.
 *
 * O1. The worker says that it lives three times a lease; one that was late learns of it from the answer, and lets go.
 * O2. Hints make the worker look sooner; the poll makes it look in any case.
 * O3. A failure to reach the store ends no loop: it is tried again at the next beat or poll.
 */
export class Ownership {
  readonly #settings: OwnershipSettings;
  readonly #parts: OwnershipParts;
  #stopped = false;
  #holding = false;
  #looking = false;
  #lookAgain = false;
  #kicked = false;
  #wantsRoom = false;
  #cancelDue: (() => void) | null = null;
  #tidying = false;

  constructor(settings: OwnershipSettings, parts: OwnershipParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Whether there was more to claim than room for it. */
  get wantsRoom(): boolean {
    return this.#wantsRoom;
  }

  async start(): Promise<void> {
    const { store, reaching } = this.#parts;
    const { worker, leaseMs, workflows } = this.#settings;
    await reaching(() => store.heartbeat(worker, leaseMs, workflows));
    this.#every(Math.max(TIDY_MS, TIDY_POLLS * this.#settings.pollMs), () => this.#tidy());
    this.#every(this.#settings.leaseMs / 3, () => this.beat());
    this.#every(this.#settings.pollMs, () => this.look());
    this.kick();
  }

  /** Looks at the end of this turn. */
  kick(): void {
    if (this.#kicked || this.#stopped) return;
    this.#kicked = true;
    this.#parts.turns.atTurnEnd(() => {
      this.#kicked = false;
      void this.look();
    });
  }

  /** No more claims; beats go on. */
  hold(): void {
    this.#holding = true;
  }

  unhold(): void {
    this.#holding = false;
    this.kick();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelDue?.();
  }

  /** Stops, and frees what the worker holds. If the store can't be reached, that happens when the lease is over. */
  async retire(): Promise<void> {
    this.stop();
    if (this.#settings.workflows.length === 0) return;
    const { store, reaching } = this.#parts;
    await this.#reaching("retire", () => reaching(() => store.retire(this.#settings.worker)));
  }

  /** Says that the worker lives; frees runs of those who don't. */
  async beat(): Promise<number> {
    return (
      (await this.#reaching("heartbeat", async () => {
        const { worker, leaseMs, workflows } = this.#settings;
        const { alive, freed } = await this.#parts.store.heartbeat(worker, leaseMs, workflows);
        if (this.#stopped) return 0;
        if (!alive) this.#parts.onLapsed();
        this.#parts.onHeld(await this.#parts.store.held(this.#settings.worker));
        if (freed > 0) this.kick();
        return freed;
      })) ?? 0
    );
  }

  /** Claims what there is room for, and hears what is due. */
  async look(): Promise<Round> {
    if (this.#stopped || this.#holding) return { claimed: 0, due: 0 };
    if (this.#looking) {
      this.#lookAgain = true;
      return { claimed: 0, due: 0 };
    }
    this.#looking = true;
    const round = await this.#reaching("claim", () => this.#round());
    this.#looking = false;
    // The claim may have been granted and its answer lost.
    if (round === null)
      await this.#reaching("held", async () => this.#parts.onHeld(await this.#parts.store.held(this.#settings.worker)));
    if (this.#lookAgain) {
      this.#lookAgain = false;
      this.kick();
    }
    return round ?? { claimed: 0, due: 0 };
  }

  async #round(): Promise<Round> {
    const { store, room, suspectRoom, onClaimed, onDue } = this.#parts;
    const { worker, workflows, claimMax } = this.#settings;
    const lookedAt = store.now();
    const due = await store.due(worker, claimMax);
    if (this.#stopped) return { claimed: 0, due: 0 };
    onDue(due);
    const limit = Math.min(room(), claimMax);
    const claimed =
      limit <= 0 || workflows.length === 0
        ? []
        : await store.claim({ worker, limit, workflows, suspects: { claims: SUSPECT_CLAIMS, max: suspectRoom() } });
    if (claimed.length > 0) onClaimed(claimed);
    this.#wantsRoom = claimed.length === limit || limit <= 0;
    if (this.#wantsRoom && room() > 0) this.#lookAgain = true;
    await this.#armDue(lookedAt);
    return { claimed: claimed.length, due: due.length };
  }

  /**
   * Events whose time is over become dead letters; what is older than it is kept goes. A bounded number at a time; when there is
   * more, soon again.
   */
  async #tidy(): Promise<void> {
    if (this.#tidying) return;
    const { store, clock } = this.#parts;
    this.#tidying = true;
    const pruned = await this.#reaching("prune", () => tidy(store, this.#settings.retention, TIDY_MAX));
    const again = (): void => {
      this.#tidying = false;
      if (!this.#stopped) void this.#tidy();
    };
    if (pruned?.done === false) clock.wakeAt(clock.now() + TIDY_AGAIN_MS, again);
    else this.#tidying = false;
  }

  /** One appointment, for the earliest deadline in the store; what was due when the worker looked waits for room, not for time. */
  async #armDue(lookedAt: number): Promise<void> {
    const { store, clock } = this.#parts;
    const { worker, workflows, pollMs } = this.#settings;
    const at = await store.nextDueAt(worker, workflows);
    this.#cancelDue?.();
    this.#cancelDue = null;
    if (this.#stopped || at === null || at <= lookedAt) return;
    const inMs = at - store.now();
    if (inMs < pollMs) this.#cancelDue = clock.wakeAt(clock.now() + Math.max(inMs, 1), () => this.kick());
  }

  #every(ms: number, work: () => Promise<unknown>): void {
    const { clock } = this.#parts;
    const next = (): void => {
      clock.wakeAt(clock.now() + ms, () => {
        if (this.#stopped) return;
        next();
        void work();
      });
    };
    next();
  }

  async #reaching<T>(what: string, call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#parts.log("warn", `${what} did not reach the store`, {
        worker: this.#settings.worker,
        code: error.code,
        error: error.message,
      });
      return null;
    }
  }
}
