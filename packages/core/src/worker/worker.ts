import { Committer } from "../coordinator/committer.ts";
import { Coordinator } from "../coordinator/coordinator.ts";
import type { EngineConfig } from "../engine/config.ts";
import type { EventPublisher } from "../engine/events.ts";
import { PawlError } from "../model/errors.ts";
import type { Codec } from "../model/payload.ts";
import type { Wake } from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { ResourceReleases } from "../runner/resource-releases.ts";
import type { RunSession, SessionServices } from "../runner/session-ports.ts";
import { waitAtMost } from "../runtime/clock.ts";
import { dueTimersFirst } from "../runtime/event-loop.ts";
import { TimerQueue, wakeBy } from "../runtime/timer-queue.ts";
import type { UnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Hint } from "../store/store.ts";
import { startUndoRun } from "./child-undo.ts";
import { ClaimedRuns, poisonOf } from "./claimed-runs.ts";
import { SessionLoader } from "./session-loader.ts";
import { SessionPool, type Slot } from "./session-pool.ts";
import { type PendingStart, PendingStarts } from "./start-queue.ts";
import { StoreClock } from "./store-clock.ts";
import { WorkerLoop } from "./worker-loop.ts";

/** Runs that are claimed at once. */
const CLAIM_MAX = 200;
/** How long a worker that stops waits for the store to hear of it. */
const GIVE_BACK_MS = 5_000;

/**
 * One engine process at work: the runs it owns, the sessions that interpret them, and the coordinator they write through.
 * This is where the circle is closed: what sessions add goes to the coordinator, and what commits bring goes to sessions.
 */
export class Worker {
  readonly id: string;
  readonly coordinator: Coordinator;
  readonly clock: TimerQueue;
  readonly pendingStarts = new PendingStarts();
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #events: EventPublisher;
  readonly #programs: ProgramRegistry;
  readonly #sessions: SessionPool;
  readonly #loader: SessionLoader;
  readonly #committer: Committer;
  readonly #loop: WorkerLoop;
  readonly #rejections: UnhandledRejections;
  readonly #claimedRuns: ClaimedRuns;
  readonly #releases: ResourceReleases;
  #unwatch: (() => void) | null = null;
  #stopping = false;
  #idle: Array<() => void> = [];

  constructor(config: EngineConfig, codec: Codec, news: EventPublisher) {
    const { world, log } = config;
    this.#config = config;
    this.#codec = codec;
    this.#events = news;
    this.id = world.random.id(world.clock.now());
    this.clock = new TimerQueue(world.clock, config.timerResolutionMs);
    const around = sessionServices(config, this.clock, codec);
    this.#sessions = new SessionPool(
      { workingMax: config.concurrency, parkedMax: config.hotRuns, parkedBytesMax: config.hotBytes },
      around.appoint,
      (runId) => {
        this.coordinator.disown(runId);
        // Where none stays, the store's deadlines are the only ones there are.
        if (config.hotRuns === 0) this.#loop.requestPoll();
      },
    );
    this.#programs = new ProgramRegistry(config.workflows.values(), { ...config, codec, log }, config.policy);
    this.#rejections = world.trackRejections((runId, error) => {
      log("error", "a rejection in a run's code was handled by nobody", { run: runId, error: String(error) });
      news.event({ kind: "unhandledRejection", runId, error });
    });
    const { committer, coordinator } = this.#createCoordinator();
    this.#committer = committer;
    this.coordinator = coordinator;
    this.#releases = new ResourceReleases(log, (failure) => news.event({ kind: "resource.releaseFailed", ...failure }));
    this.#loop = this.#createLoop();
    this.#loader = new SessionLoader(
      {
        worker: this.id,
        programs: this.#programs,
        sessions: this.#sessions,
        pendingStarts: this.pendingStarts,
        log,
        load: (runId, afterSeq) => config.store.load(runId, afterSeq),
        room: () => this.coordinator.room,
        onAllStarted: () => this.#freed(),
        own: (view) => this.coordinator.own(view),
        disown: (runId) => {
          this.coordinator.disown(runId);
          this.#claimedRuns.cleared(runId);
        },
        onLost: (run, reason) => news.event({ kind: "run.lost", runId: run.id, workflow: run.workflow, reason }),
        rejectionOf: (run) => poisonOf(run, config.claimsMax),
        onUnloadable: (run, error) => this.#claimedRuns.failRun(run, error),
        onUnknownWorkflow: (run) => this.#claimedRuns.release(run),
      },
      this.#sessionServices(around),
    );
    this.#claimedRuns = new ClaimedRuns({
      config,
      codec,
      events: news,
      sessions: this.#sessions,
      loader: this.#loader,
      coordinator: this.coordinator,
      onCleared: () => this.#loop.requestPoll(),
    });
  }

  /** Keeps a slot for a run that is about to be started; null if it can't be worked on here at once. */
  reserveSlot(workflow: WorkflowRef): Slot | null {
    return this.#stopping || !this.#programs.has(workflow) ? null : this.#sessions.reserveSlot();
  }

  /** Whether this process hears of the run's end by itself. One that rests may be ended by others, who tell nobody. */
  isLocal(runId: string): boolean {
    return this.#sessions.get(runId)?.isParked === false || this.pendingStarts.has(runId);
  }

  async start(): Promise<void> {
    const handlers = { worker: this.id, sessions: this.#sessions, loader: this.#loader, loop: this.#loop };
    this.#unwatch = this.#config.store.watch((hint) => handleHint(hint, handlers));
    if (this.#programs.refs.length > 0) await this.#loop.start();
  }

  /** Works on runs of this workflow too, from here on. */
  async register(workflow: Parameters<ProgramRegistry["add"]>[0]): Promise<void> {
    this.#programs.add(workflow);
    await this.#loop.start();
  }

  /** Interprets a run that was created a moment ago with this worker as its owner. */
  enqueueStart(beginning: PendingStart): void {
    this.#loader.enqueueStart(beginning);
  }

  /** Makes a call until it reaches the store; a caller is told if it does not. */
  withRetry<T>(call: () => Promise<T>): Promise<T> {
    return this.#committer.retryingForCaller(call);
  }

  /** Asks for work now: a run may have become claimable. */
  requestPoll(): void {
    this.#loop.requestPoll();
  }

  async recover(): Promise<{ readonly freed: number; readonly claimed: number; readonly due: number }> {
    const freed = await this.#loop.heartbeat();
    return { freed, ...(await this.#loop.claimRound()) };
  }

  /**
   * Before a call to this very process takes a run over from outside. What is given lets go of what the process has of the run
   * by then, and of nothing that it has claimed since: the answer to the call may be late.
   */
  capture(runId: string): (reason: Error) => void {
    const session = this.#sessions.get(runId);
    return (reason) => {
      this.pendingStarts.drop(runId);
      if (session !== undefined && this.#sessions.get(runId) === session) this.#loader.discard(runId, reason);
    };
  }

  /** Stops claiming, waits until nothing works or time is up, gives back what still does. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    this.#loop.pauseClaims();
    this.#unwatch?.();
    if (!this.#loader.isIdle) {
      await waitAtMost(this.clock, drainMs, new Promise<void>((resolve) => this.#idle.push(resolve)));
    }
    this.#loader.close();
    for (const session of this.#sessions.all()) if (!session.isParked) session.release();
    // A store that does not answer must not keep the process: what is not given back is free when the lease is over.
    await waitAtMost(this.clock, Math.max(drainMs, GIVE_BACK_MS), this.coordinator.drained());
    this.#loader.discardAll(new PawlError("ENGINE_STOPPED", "the engine is shut down"));
    await waitAtMost(this.clock, GIVE_BACK_MS, this.#releases.ended());
    await waitAtMost(this.clock, GIVE_BACK_MS, this.#loop.retire());
    this.clock.clear();
    this.#rejections.stop();
  }

  #createCoordinator(): CommitPath {
    return createCoordinator(this.#config, this.clock, {
      onDown: (error) => {
        this.#loop.pauseClaims();
        this.#events.event({ kind: "store.down", error });
      },
      onUp: () => {
        if (!this.#stopping) this.#loop.resumeClaims();
        this.#events.event({ kind: "store.up" });
      },
      onWakes: (wakes) => this.#wakeRuns(wakes),
      onAnswered: () => this.#loader.onCommitted(),
      onBroken: (error) => this.#broken(error),
    });
  }

  #createLoop(): WorkerLoop {
    const { store, world, log, leaseMs, pollMs, retention } = this.#config;
    return new WorkerLoop(
      { worker: this.id, workflows: this.#programs.refs, leaseMs, pollMs, claimMax: CLAIM_MAX, retention },
      {
        store,
        withRetry: (call) => this.#committer.retrying(call),
        clock: this.clock,
        eventLoop: world.eventLoop,
        log,
        room: () => this.#sessions.room,
        suspectRoom: () => this.#claimedRuns.suspectRoom,
        onClaimed: (runs) => this.#claimedRuns.claimed(runs),
        onDue: (runs) => this.#loader.wakeDue(runs),
        onOwned: (held) => {
          this.coordinator.markUp();
          this.#claimedRuns.keepSuspects(held);
          this.#loader.reconcile(held);
        },
        onLeaseLost: () => this.#onLeaseLost(),
      },
    );
  }

  #sessionServices(around: ReturnType<typeof sessionServices>): SessionServices {
    const { store } = this.#config;
    return {
      ...around,
      policyOf: (run) => this.#programs.policyOf(run),
      releases: this.#releases,
      reloadInbox: (session) => this.#loader.reload(session.runId),
      watched: this.#rejections.watched,
      unwatched: this.#rejections.unwatched,
      enlist: (session) => this.coordinator.enlist(session),
      committed: (session, op) => {
        this.#claimedRuns.cleared(session.runId);
        this.#events.records(session.run, op);
      },
      unparked: (session) => {
        this.#sessions.unpark(session);
        this.#events.plain("run.woken", session.run);
      },
      parked: (session) => this.#parked(session),
      ended: (session) => this.#ended(session),
      appendRefused: (session, reason) => this.#loader.onAppendRefused(session, reason),
      undoChild: (child) => startUndoRun({ store, codec: this.#codec, ops: this.coordinator }, child),
    };
  }

  #wakeRuns(wakes: readonly Wake[]): void {
    for (const wake of wakes) {
      if (wake.owner === this.id) this.#loader.wake(wake);
      else if (wake.owner === null) this.#loop.requestPoll();
    }
  }

  #parked(session: RunSession): void {
    this.#sessions.park(session);
    this.#events.plain("run.suspended", session.run);
    this.#freed();
  }

  #ended(session: RunSession): void {
    const { run, endState: end } = session;
    this.#sessions.remove(session);
    this.coordinator.disown(run.id);
    this.#freed();
    if (end === null) return;
    this.#events.turnEnded(run, end, session.isCompensating);
    if (end.status === "continued") this.#loader.reload(run.id);
  }

  /** A slot is free: those who wait for the end of work, and runs that nobody owns, hear of it. */
  #freed(): void {
    if (this.#loader.isIdle) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#loop.hasBacklog) this.#loop.requestPoll();
  }

  #onLeaseLost(): void {
    this.#config.log("warn", "this worker was silent for longer than its lease: it looks which runs it has still", {
      worker: this.id,
      runs: this.#sessions.size,
    });
    this.#events.event({ kind: "worker.lapsed", worker: this.id });
    this.#loader.onLeaseLost();
    this.#loop.requestPoll();
  }

  #broken(error: unknown): void {
    this.#config.log("error", "the engine stopped before it could write a wrong state", { error: String(error) });
    this.#loop.stop();
    this.#loader.discardAll(new PawlError("ENGINE_BROKEN", String(error), { cause: error }));
    this.#events.event({ kind: "engine.broken", error });
  }
}

type SharedServices = Pick<
  SessionServices,
  "now" | "hasPassed" | "clock" | "eventLoop" | "random" | "codec" | "log" | "wakeAt"
> & {
  /** Calls back when a deadline has come, for certain where the store can say it in time. */
  readonly appoint: StoreClock["wakeAt"];
};

/** What surrounds all sessions, whatever worker they have: clocks, eventLoop, chance, the log. */
export function sessionServices({ store, world, log }: EngineConfig, clock: TimerQueue, codec: Codec): SharedServices {
  const now = (): number => store.now();
  const { eventLoop, random } = world;
  const ticks = (): number | null => world.clock.ticks?.() ?? null;
  const { hasPassed: hasCome, wakeAt: appoint } = new StoreClock(store, clock, ticks);
  return {
    now,
    hasPassed: hasCome,
    clock,
    eventLoop: eventLoop,
    random,
    codec,
    log,
    wakeAt: wakeBy(clock, now),
    appoint,
  };
}

/**
 * Transitions in one commit, and ops that may wait for one. A commit keeps the loop busy, so more at once would keep all else waiting for
 * longer, and run out of the cache. As many runs under way fill a commit.
 */
const LIMITS = { batchMax: 500, queueMax: 20_000, busyMax: 500 };

/** A worker's way to its store. */
export interface CommitPath {
  readonly committer: Committer;
  readonly coordinator: Coordinator;
}

export function createCoordinator(
  { store, world, log, storageRetry: policy }: EngineConfig,
  clock: TimerQueue,
  hooks: {
    readonly onDown: (error: Error) => void;
    readonly onUp: () => void;
    readonly onWakes: (wakes: readonly Wake[]) => void;
    readonly onAnswered: () => void;
    readonly onBroken: (error: unknown) => void;
  },
): CommitPath {
  const { onDown, onUp, ...rest } = hooks;
  const committer = new Committer({ store, clock, random: world.random, policy, log, onDown, onUp });
  const eventLoop = dueTimersFirst(world.eventLoop, clock);
  const { batchMax = LIMITS.batchMax, busyMax = LIMITS.busyMax } = store;
  const limits = { ...LIMITS, batchMax, busyMax };
  const coordinator = new Coordinator({ store, committer, eventLoop, limits, ...rest });
  return { committer, coordinator };
}

export interface HintHandlers {
  readonly worker: string;
  readonly sessions: { get(runId: string): Pick<RunSession, "isParked"> | undefined };
  readonly loader: {
    /** Whether this worker is about to begin the run. */
    isStarting(runId: string): boolean;
    /** Reads what has come for a run that this worker owns. */
    reload(runId: string): void;
  };
  /** Looks for whatever is due. */
  readonly loop: { requestPoll(): void };
}

/**
 * What a hint means to a worker. Where the store tells who owns a run, what has come for a hot one is read without asking what is
 * due, and what others own is theirs to see. What a worker has in its hands it needs no hint for.
 */
export function handleHint({ runIds, owners }: Hint, { worker, sessions, loader, loop }: HintHandlers): void {
  if (runIds === null) {
    loop.requestPoll();
    return;
  }
  let looks = false;
  let index = 0;
  for (const runId of runIds) {
    const owner = owners?.[index];
    index += 1;
    const session = sessions.get(runId);
    if (loader.isStarting(runId)) continue;
    if (owner === worker && session !== undefined) loader.reload(runId);
    else if (owner === worker || ((owner === undefined || owner === null) && session?.isParked !== false)) looks = true;
  }
  if (looks) loop.requestPoll();
}
