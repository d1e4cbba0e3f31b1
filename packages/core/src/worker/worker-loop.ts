import type { Heartbeat, LapsedRun } from "../rules/tables.ts";
import type { Clock } from "../runtime/clock.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { EventLoopDelay } from "../runtime/event-loop-delay.ts";
import type { Log } from "../runtime/log.ts";
import type { Processes } from "../runtime/processes.ts";
import { StoreError } from "../store/store-error.ts";
import { type ClaimParts, ClaimScheduler, type ClaimSettings } from "./claims.ts";
import { LocalWorkers } from "./local-workers.ts";
import { OverdueStarts } from "./overdue-starts.ts";
import { type Retention, RetentionLoop, retentionIntervalMs } from "./retention-loop.ts";
import { SilentWorkers } from "./silent-workers.ts";
import { UnknownWorkflows } from "./unknown-workflows.ts";
import { UnreadMessages } from "./unread-messages.ts";
import type { WorkerEvents } from "./worker-events.ts";

export interface WorkerLoopSettings extends ClaimSettings {
  /** Time without a heartbeat after which other workers free this worker's runs. */
  readonly leaseMs: number;
  /** Interval of the poll. Hints usually arrive sooner. */
  readonly pollMs: number;
  /** Runs claimed in one call. */
  readonly claimMax: number;
  readonly retention: Retention;
}

/** Heartbeats per lease. */
const HEARTBEATS = 3;

/** How far the estimate of the store's clock may be off. A query that is too early returns nothing. */
const CLOCK_SLACK_MS = 50;

export interface WorkerLoopParts extends ClaimParts {
  readonly clock: Clock;
  readonly eventLoop: EventLoop;
  readonly log: Log;
  /** Retries a store call by the storage retry policy. */
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
  /** How many more runs this worker can execute. */
  readonly processes: Processes | null;
  readonly room: () => number;
  /** Called when the lease expired before its end by this worker's clock: any of its runs may have been freed. */
  readonly distrustOwnership: () => void;
  /** Whether a run that this worker executes may have been freed. */
  readonly ownershipUnknown: () => boolean;
  /** The runs that this worker executes, as a heartbeat reports them when the lease may have expired. */
  readonly lapsedRuns: () => readonly LapsedRun[];
  readonly events: Pick<
    WorkerEvents,
    "onClaimed" | "onDue" | "onOwned" | "onLeaseLost" | "onRenewed" | "onTimerLate" | "onUnloadable" | "onFatalError"
  >;
  readonly delay: EventLoopDelay;
}

export interface Round {
  readonly claimed: number;
  readonly due: number;
}

/**
 * Renews this worker's lease, polls for due runs, and claims runs while there is room.
 *
 * 1. A heartbeat is sent three times per lease. If the reply says that the lease had expired, `onLeaseLost` is called. That heartbeat
 *    has kept every run that no other worker claimed.
 * 2. A hint starts a claim round early; the poll guarantees one. An idle worker makes one store call per poll.
 * 3. A store error never ends the loop: the next heartbeat or poll retries. An error that no retry can cure is reported to
 *    `onFatalError`, and after `stop` no further call is made but `retire`.
 * 4. If another worker's lease expires before our next heartbeat, a timer sends one at that moment, so its runs are freed on time.
 * 5. Nothing is claimed before the first heartbeat is acknowledged, or after our lease expired: other workers would free the
 *    claimed runs at once.
 */
export class WorkerLoop {
  readonly #settings: WorkerLoopSettings;
  readonly #parts: WorkerLoopParts;
  readonly #claims: ClaimScheduler;
  readonly #retention: RetentionLoop;
  readonly #unknown: UnknownWorkflows;
  readonly #overdue: OverdueStarts;
  readonly #unread: UnreadMessages;
  readonly #localWorkers: LocalWorkers;
  readonly #silentWorkers: SilentWorkers;
  #started = false;
  #stopped = false;
  #claimsPaused = false;
  #claiming = false;
  #polling = false;
  #claimAgain = false;
  #pollRequested = false;
  #hasBacklog = false;
  #heartbeatAt = 0;
  /** The latest time at which the lease expires if no further heartbeat is acknowledged. */
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
      withRetry: (call) => this.#orLog("prune", call),
      stopped: () => this.#stopped,
    });
    this.#unknown = new UnknownWorkflows({
      store: parts.store,
      log: parts.log,
      worker: settings.worker,
      stopped: () => this.#stopped,
    });
    const { store, log, withRetry, processes } = parts;
    const stopped = (): boolean => this.#stopped;
    this.#overdue = new OverdueStarts({ store, stopped, events: parts.events });
    this.#unread = new UnreadMessages({ store, log, worker: settings.worker, stopped });
    this.#localWorkers = new LocalWorkers({ store, worker: settings.worker, processes, log, withRetry, stopped });
    this.#silentWorkers = new SilentWorkers({ ...settings, store, log, clock: parts.clock });
  }

  /** Whether more runs were due than there was room for. */
  get hasBacklog(): boolean {
    return this.#hasBacklog;
  }

  /** Starts the loop. Called again, it sends the current list of workflows and polls. */
  async start(): Promise<void> {
    if (this.#started) await this.heartbeat();
    else await this.#startLoop();
    this.requestPoll();
    if ((await this.#orLog("documents", () => this.#localWorkers.start())) === true) this.requestPoll();
  }

  async #startLoop(): Promise<void> {
    const { store, withRetry, clock } = this.#parts;
    const { worker, leaseMs, pollMs, workflows } = this.#settings;
    const { nextExpiryAt } = await withRetry(() => {
      this.#heartbeatAt = clock.now();
      return store.heartbeat(worker, leaseMs, workflows);
    });
    this.#leaseUntil = Math.max(this.#leaseUntil, this.#heartbeatAt + leaseMs);
    if (this.#started) return;
    this.#started = true;
    this.#armExpiry(nextExpiryAt);
    this.#noteExpiry(nextExpiryAt);
    this.#every(retentionIntervalMs(pollMs), () => this.#retention.tick());
    this.#every(retentionIntervalMs(pollMs), () => this.#orLog("list", () => this.#unknown.tick()));
    this.#every(retentionIntervalMs(pollMs), () => this.#orLog("list", () => this.#overdue.tick()));
    this.#every(retentionIntervalMs(pollMs), () => this.#orLog("list", () => this.#unread.tick()));
    const tickMs = Math.min(pollMs, leaseMs / HEARTBEATS);
    const { delay, events } = this.#parts;
    delay.timerSet(tickMs);
    this.#every(tickMs, () => {
      events.onTimerLate(delay.timerCalled());
      delay.timerSet(tickMs);
      return this.#tick();
    });
  }

  /** Starts a claim round at the end of this event-loop turn. Does nothing before the first heartbeat. */
  requestPoll(): void {
    if (this.#pollRequested || this.#stopped || !this.#started) return;
    this.#pollRequested = true;
    this.#parts.eventLoop.afterTurn(() => {
      this.#pollRequested = false;
      void this.claimRound();
    });
  }

  /** Stops claiming. Heartbeats continue. */
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

  /** Stops, and releases this worker's runs. If the store is unreachable, they are freed when the lease expires. */
  async retire(): Promise<void> {
    this.stop();
    if (!this.#started) return;
    const { store, withRetry } = this.#parts;
    await this.#orLog("retire", () => withRetry(() => store.retire(this.#settings.worker)));
    await this.#orLog("retire", () => this.#localWorkers.retire());
  }

  /** Renews the lease, and frees runs of expired workers. Returns how many were freed. */
  async heartbeat(): Promise<number> {
    return (
      (await this.#orLog("heartbeat", async () => {
        const { store, clock, events } = this.#parts;
        const { leaseMs } = this.#settings;
        const sentAt = clock.now();
        this.#heartbeatAt = sentAt;
        const storeNow = store.now();
        const reply = await this.#renew();
        const { alive, freed, owned, nextDueAt, nextExpiryAt } = reply;
        if (this.#stopped) return 0;
        if (this.#leaseExpired) this.requestPoll();
        this.#leaseUntil = Math.max(this.#leaseUntil, sentAt + leaseMs);
        events.onRenewed(alive);
        if (!alive) events.onLeaseLost();
        events.onOwned(owned);
        this.#armOrPoll(nextDueAt, storeNow);
        this.#noteExpiry(nextExpiryAt);
        if (freed > 0 || nextExpiryAt === null || nextExpiryAt > store.now()) this.#armExpiry(nextExpiryAt);
        if (freed > 0) this.requestPoll();
        return freed;
      })) ?? 0
    );
  }

  #noteExpiry(nextExpiryAt: number | null): void {
    void this.#orLog("workers", () => this.#silentWorkers.onHeartbeat(nextExpiryAt));
  }

  /** Renews the lease. If it had expired, takes back the runs that were freed and that no other worker has claimed. */
  async #renew(): Promise<Heartbeat> {
    const { store, ownershipUnknown, lapsedRuns } = this.#parts;
    const { worker, leaseMs, workflows } = this.#settings;
    const mayHaveLapsed = this.#leaseExpired || ownershipUnknown();
    const reply = await store.heartbeat(worker, leaseMs, workflows, mayHaveLapsed ? lapsedRuns() : undefined);
    if (reply.alive || mayHaveLapsed || this.#stopped) return reply;
    // The lease expired on the way, or by the store's clock only. No step may start until the second reply.
    this.#parts.distrustOwnership();
    const second = await store.heartbeat(worker, leaseMs, workflows, lapsedRuns());
    return { ...second, alive: false, freed: reply.freed + second.freed };
  }

  /** Sends a heartbeat if the next tick would be too late for one; its reply includes what a poll returns. Otherwise polls. */
  #tick(): Promise<unknown> {
    const { pollMs, leaseMs } = this.#settings;
    const isLast = this.#parts.clock.now() - this.#heartbeatAt + pollMs > leaseMs / HEARTBEATS;
    return isLast ? this.heartbeat() : this.#poll();
  }

  /**
   * Reads only when the next run is due: mostly none is, and hints arrive sooner. One poll is in flight at a time, because polls of a
   * slow store would pile up and delay heartbeats.
   */
  async #poll(): Promise<void> {
    const { store } = this.#parts;
    const { worker, workflows } = this.#settings;
    if (this.#stopped || this.#claimsPaused || this.#claiming || this.#polling) return;
    this.#polling = true;
    await this.#orLog("poll", async () => {
      const storeNow = store.now();
      this.#armOrPoll(await store.nextDueAt(worker, workflows), storeNow);
    });
    this.#polling = false;
  }

  /** Starts a claim round if a run was due when the store was queried. Otherwise arms a timer for the next one. */
  #armOrPoll(dueAt: number | null, queriedAt: number): void {
    if (dueAt !== null && dueAt <= queriedAt) this.requestPoll();
    else if (!this.#claiming) this.#armDue(dueAt);
  }

  /** Arms a heartbeat for the moment at which another worker's lease expires, if that is before our next heartbeat. */
  #armExpiry(expiryAt: number | null): void {
    const { store, clock } = this.#parts;
    this.#cancelExpiry?.();
    this.#cancelExpiry = null;
    if (this.#stopped || expiryAt === null) return;
    const inMs = expiryAt - store.now() + (store.exactClock ? 0 : CLOCK_SLACK_MS);
    if (inMs < this.#settings.leaseMs / HEARTBEATS) {
      this.#cancelExpiry = clock.wakeAt(clock.now() + Math.max(inMs, 1), () => void this.heartbeat());
    }
  }

  /** Wakes the due runs of this worker, and claims runs while there is room. */
  async claimRound(): Promise<Round> {
    if (this.#stopped || this.#claimsPaused || this.#leaseExpired) return { claimed: 0, due: 0 };
    if (this.#claiming) {
      this.#claimAgain = true;
      return { claimed: 0, due: 0 };
    }
    this.#claiming = true;
    const round = await this.#orLog("claim", () => this.#round());
    this.#claiming = false;
    // The store may have granted the claim, and its reply was lost.
    if (round === null && !this.#stopped) {
      const { store, events } = this.#parts;
      const { worker } = this.#settings;
      await this.#orLog("ownedRunning", async () => events.onOwned(await store.ownedRunning(worker)));
    }
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
    const { store, room, suspects, events } = this.#parts;
    const { worker, workflows, claimMax } = this.#settings;
    const storeNow = store.now();
    const due = await store.dueRuns(worker, claimMax);
    if (this.#stopped) return { claimed: 0, due: 0 };
    events.onDue(due);
    if (this.#leaseExpired) return { claimed: 0, due: due.length };
    const limit = Math.min(room(), claimMax);
    // A round that `claimMax` limits is repeated at once, so no run waits for room.
    const waitsForRoom = this.#hasBacklog && limit < claimMax;
    const claimed = await this.#claims.claim(limit, waitsForRoom);
    this.#hasBacklog = claimed === limit || limit <= 0;
    if (this.#hasBacklog && room() > 0) this.#claimAgain = true;
    const dueAt = await store.nextDueAt(worker, workflows);
    const isLeft = dueAt !== null && dueAt <= storeNow;
    // While runs of this worker are due, a run that is left may be one of them.
    if (!isLeft) suspects.skipped(false);
    else if (claimed < limit && due.length === 0) suspects.skipped(true);
    // A run that was due already waits for room, or is skipped; it does not wait for a time.
    this.#armDue(isLeft ? null : dueAt);
    return { claimed, due: due.length };
  }

  /** Arms the one timer for the earliest deadline in the store. */
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

  /** Calls the store once. A store error is logged, any other error is reported as a bug. The result is then null. */
  async #orLog<T>(name: string, call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError)) {
        this.#parts.events.onFatalError(error);
        return null;
      }
      // After `stop`, only the result of `retire` matters; any other call may meet a closed store.
      if (this.#stopped && name !== "retire") return null;
      this.#parts.log("warn", "store call failed; will retry", {
        call: name,
        worker: this.#settings.worker,
        code: error.code,
        error: error.message,
      });
      return null;
    }
  }
}
