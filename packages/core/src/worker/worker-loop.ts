import type { OwnedRun } from "../rules/tables.ts";
import type { Clock } from "../runtime/clock.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import type { DueRun } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { type ClaimParts, ClaimScheduler, type ClaimSettings } from "./claims.ts";
import { type Retention, RetentionLoop, retentionIntervalMs } from "./retention-loop.ts";

export interface WorkerLoopSettings extends ClaimSettings {
  /** How long a worker that says nothing is taken for alive. */
  readonly leaseMs: number;
  /** How often the store is asked, whatever hints come. */
  readonly pollMs: number;
  /** Runs taken at once. */
  readonly claimMax: number;
  readonly retention: Retention;
}

/** Beats in a lease. */
const BEATS = 3;

/** How far an estimate of the store's clock may be wrong. Whoever asks too early is told nothing. */
const CLOCK_SLACK_MS = 50;

export interface WorkerLoopParts extends ClaimParts {
  readonly clock: Clock;
  readonly eventLoop: EventLoop;
  readonly log: Log;
  /** Makes a call until it reaches the store, by the storage retry policy. */
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
  /** How many more runs this worker can work on. */
  readonly room: () => number;
  /** Runs that this worker owns are due, or something has come for them. */
  readonly onDue: (runs: readonly DueRun[]) => void;
  /** The worker was taken for dead: it may have lost any of its runs. What it holds is told next. */
  readonly onLeaseLost: () => void;
  /** What the store says that this worker holds: asked at each beat, and when an answer to a claim was lost. */
  readonly onOwned: (held: readonly OwnedRun[]) => void;
}

export interface Round {
  readonly claimed: number;
  readonly due: number;
}

/**
 * Which runs this worker may write.
 *
 * 1. The worker says that it lives three times a lease; one that was late learns of it from the answer, and lets go.
 * 2. Hints make the worker look sooner; the poll makes it look in any case. One at rest asks once a poll, and nothing else.
 * 3. A failure to reach the store ends no loop: it is tried again at the next beat or poll.
 * 4. A worker whose lease is over leaves its runs to the others when that is so, not at their next beat.
 * 5. Nothing is claimed before the worker is known to live, nor when its lease is over: it would be free for others at once.
 */
export class WorkerLoop {
  readonly #settings: WorkerLoopSettings;
  readonly #parts: WorkerLoopParts;
  readonly #claims: ClaimScheduler;
  readonly #retention: RetentionLoop;
  #started = false;
  #stopped = false;
  #claimsPaused = false;
  #claiming = false;
  #polling = false;
  #claimAgain = false;
  #pollRequested = false;
  #hasBacklog = false;
  #heartbeatAt = 0;
  /** When its lease is over, at the latest, if no other beat is answered. */
  #leaseUntil = 0;
  #cancelDue: (() => void) | null = null;
  #cancelExpiry: (() => void) | null = null;

  constructor(settings: WorkerLoopSettings, parts: WorkerLoopParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#claims = new ClaimScheduler(settings, parts);
    this.#retention = new RetentionLoop({
      store: parts.store,
      clock: parts.clock,
      retention: settings.retention,
      withRetry: (call) => this.#reaching("prune", call),
      stopped: () => this.#stopped,
    });
  }

  /** Whether there was more to claim than room for it. */
  get hasBacklog(): boolean {
    return this.#hasBacklog;
  }

  /** Begins; asked again, it says what the worker can run by then, and looks for it. */
  async start(): Promise<void> {
    if (this.#started) await this.heartbeat();
    else await this.#begin();
    this.requestPoll();
  }

  async #begin(): Promise<void> {
    const { store, withRetry: reaching, clock } = this.#parts;
    const { worker, leaseMs, pollMs, workflows } = this.#settings;
    const { nextExpiryAt } = await reaching(() => {
      this.#heartbeatAt = clock.now();
      return store.heartbeat(worker, leaseMs, workflows);
    });
    this.#leaseUntil = Math.max(this.#leaseUntil, this.#heartbeatAt + leaseMs);
    if (this.#started) return;
    this.#started = true;
    this.#armExpiry(nextExpiryAt);
    this.#every(retentionIntervalMs(pollMs), () => this.#retention.tick());
    this.#every(Math.min(pollMs, leaseMs / BEATS), () => this.#tick());
  }

  /** Looks at the end of this turn, if the worker has said that it lives: it does when there is anything that it could run. */
  requestPoll(): void {
    if (this.#pollRequested || this.#stopped || !this.#started) return;
    this.#pollRequested = true;
    this.#parts.eventLoop.afterTurn(() => {
      this.#pollRequested = false;
      void this.claimRound();
    });
  }

  /** No more claims; beats go on. */
  pauseClaims(): void {
    this.#claimsPaused = true;
  }

  resumeClaims(): void {
    this.#claimsPaused = false;
    this.requestPoll();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelDue?.();
    this.#cancelExpiry?.();
  }

  /** Stops, and frees what the worker holds. If the store can't be reached, that happens when the lease is over. */
  async retire(): Promise<void> {
    this.stop();
    if (!this.#started) return;
    const { store, withRetry: reaching } = this.#parts;
    await this.#reaching("retire", () => reaching(() => store.retire(this.#settings.worker)));
  }

  /** Says that the worker lives; frees runs of those who don't. */
  async heartbeat(): Promise<number> {
    return (
      (await this.#reaching("heartbeat", async () => {
        const { store, clock, onLeaseLost: onLapsed, onOwned: onHeld } = this.#parts;
        const { worker, leaseMs, workflows } = this.#settings;
        const askedAt = clock.now();
        this.#heartbeatAt = askedAt;
        const lookedAt = store.now();
        const {
          alive,
          freed,
          owned: held,
          nextDueAt,
          nextExpiryAt,
        } = await store.heartbeat(worker, leaseMs, workflows);
        if (this.#stopped) return 0;
        if (this.#leaseExpired) this.requestPoll();
        this.#leaseUntil = Math.max(this.#leaseUntil, askedAt + leaseMs);
        if (!alive) onLapsed();
        onHeld(held);
        this.#expect(nextDueAt, lookedAt);
        if (freed > 0 || nextExpiryAt === null || nextExpiryAt > store.now()) this.#armExpiry(nextExpiryAt);
        if (freed > 0) this.requestPoll();
        return freed;
      })) ?? 0
    );
  }

  /** A beat, where the next tick would be too late for one; its answer tells what a poll asks for. Else a poll. */
  #tick(): Promise<unknown> {
    const { pollMs, leaseMs } = this.#settings;
    const isLast = this.#parts.clock.now() - this.#heartbeatAt + pollMs > leaseMs / BEATS;
    return isLast ? this.heartbeat() : this.#poll();
  }

  /**
   * Asks only whether there is something to do: mostly there is nothing, and hints come sooner. Not again before it is answered: a
   * store that is slow would get ever more to answer, and beats would wait behind it.
   */
  async #poll(): Promise<void> {
    const { store } = this.#parts;
    const { worker, workflows } = this.#settings;
    if (this.#stopped || this.#claimsPaused || this.#claiming || this.#polling) return;
    this.#polling = true;
    await this.#reaching("poll", async () => {
      const lookedAt = store.now();
      this.#expect(await store.nextDueAt(worker, workflows), lookedAt);
    });
    this.#polling = false;
  }

  /** Looks at what is due when it is. What was so when the store was asked is looked at now. */
  #expect(dueAt: number | null, askedAt: number): void {
    if (dueAt !== null && dueAt <= askedAt) this.requestPoll();
    else if (!this.#claiming) this.#armDue(dueAt);
  }

  /** A worker that is taken for dead before the next beat leaves its runs then, not when that beat comes. */
  #armExpiry(expiryAt: number | null): void {
    const { store, clock } = this.#parts;
    this.#cancelExpiry?.();
    this.#cancelExpiry = null;
    if (this.#stopped || expiryAt === null) return;
    const inMs = expiryAt - store.now() + (store.exactClock ? 0 : CLOCK_SLACK_MS);
    if (inMs < this.#settings.leaseMs / BEATS) {
      this.#cancelExpiry = clock.wakeAt(clock.now() + Math.max(inMs, 1), () => void this.heartbeat());
    }
  }

  /** Claims what there is room for, and hears what is due. */
  async claimRound(): Promise<Round> {
    if (this.#stopped || this.#claimsPaused || this.#leaseExpired) return { claimed: 0, due: 0 };
    if (this.#claiming) {
      this.#claimAgain = true;
      return { claimed: 0, due: 0 };
    }
    this.#claiming = true;
    const round = await this.#reaching("claim", () => this.#round());
    this.#claiming = false;
    // The claim may have been granted and its answer lost.
    if (round === null && !this.#stopped)
      await this.#reaching("ownedRunning", async () =>
        this.#parts.onOwned(await this.#parts.store.ownedRunning(this.#settings.worker)),
      );
    if (this.#claimAgain) {
      this.#claimAgain = false;
      this.requestPoll();
    }
    return round ?? { claimed: 0, due: 0 };
  }

  get #leaseExpired(): boolean {
    return this.#parts.clock.now() >= this.#leaseUntil;
  }

  async #round(): Promise<Round> {
    const { store, room, onDue } = this.#parts;
    const { worker, workflows, claimMax } = this.#settings;
    const lookedAt = store.now();
    const due = await store.dueRuns(worker, claimMax);
    if (this.#stopped) return { claimed: 0, due: 0 };
    onDue(due);
    const limit = Math.min(room(), claimMax);
    const claimed = await this.#claims.claim(limit, this.#hasBacklog);
    this.#hasBacklog = claimed === limit || limit <= 0;
    if (this.#hasBacklog && room() > 0) this.#claimAgain = true;
    const dueAt = await store.nextDueAt(worker, workflows);
    // What was due when the worker looked waits for room, not for time.
    this.#armDue(dueAt !== null && dueAt <= lookedAt ? null : dueAt);
    return { claimed, due: due.length };
  }

  /** One appointment, for the earliest deadline in the store. */
  #armDue(at: number | null): void {
    const { store, clock } = this.#parts;
    this.#cancelDue?.();
    this.#cancelDue = null;
    if (this.#stopped || at === null) return;
    const inMs = at - store.now();
    if (inMs < this.#settings.pollMs)
      this.#cancelDue = clock.wakeAt(clock.now() + Math.max(inMs, 1), () => this.requestPoll());
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
      // What was under way when the worker stopped, nobody needs any more: all but its leave may meet a store that is closed.
      if (this.#stopped && what !== "retire") return null;
      this.#parts.log("warn", `${what} did not reach the store`, {
        worker: this.#settings.worker,
        code: error.code,
        error: error.message,
      });
      return null;
    }
  }
}
