import type { CallerOp } from "../coordinator/caller-op.ts";
import { callerReader } from "../coordinator/caller-reader.ts";
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
import type { RunSession, SessionEvents, SessionServices } from "../runner/session-ports.ts";
import { waitAtMost } from "../runtime/clock.ts";
import { dueTimersFirst } from "../runtime/event-loop.ts";
import { EventLoopDelay } from "../runtime/event-loop-delay.ts";
import { TimeoutQueue } from "../runtime/timeout-queue.ts";
import { TimerQueue, wakeBy } from "../runtime/timer-queue.ts";
import type { UnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Hint, Reader } from "../store/store.ts";
import { stopsEngine } from "../store/store-error.ts";
import { BlockedSteps } from "./blocked-steps.ts";
import { closeChild, startUndoRun } from "./child-undo.ts";
import { ClaimedRuns } from "./claimed-runs.ts";
import { type MissedEndsParts, restoreMissedEnds } from "./missed-ends.ts";
import { SessionLoader } from "./session-loader.ts";
import { SessionPool, type Slot } from "./session-pool.ts";
import { type PendingStart, PendingStarts } from "./start-queue.ts";
import { StoreClock } from "./store-clock.ts";
import { StoreProbe } from "./store-probe.ts";
import { SuspectGroup } from "./suspect-group.ts";
import type { WorkerEvents } from "./worker-events.ts";
import { WorkerLoop } from "./worker-loop.ts";

/** Runs claimed in one call. */
const CLAIM_MAX = 200;
/** How long a worker that stops waits for the store. */
const RELEASE_MS_MAX = 5_000;

/**
 * One engine process at work: the runs it owns, the sessions that execute them, and the coordinator that commits for them.
 *
 * The worker connects the parts: it passes appends of sessions to the coordinator, and woken runs of a commit to sessions. The parts report
 * to the worker by `WorkerEvents` and `SessionEvents`, and do not know each other.
 */
export class Worker {
  readonly id: string;
  readonly coordinator: Coordinator;
  readonly clock: TimerQueue;
  readonly pendingStarts = new PendingStarts();
  /** For callers: its reads are retried and reject with STORE_UNAVAILABLE. */
  readonly reader: Reader;
  readonly #config: EngineConfig;
  readonly #publisher: EventPublisher;
  readonly #programs: ProgramRegistry;
  readonly #sessions: SessionPool;
  readonly #loader: SessionLoader;
  readonly #committer: Committer;
  readonly #probe: StoreProbe;
  readonly #loop: WorkerLoop;
  readonly #rejections: UnhandledRejections;
  readonly #claimedRuns: ClaimedRuns;
  readonly #releases: ResourceReleases;
  readonly #blockedSteps: BlockedSteps;
  readonly #suspects: SuspectGroup;
  #unwatch: (() => void) | null = null;
  #stopping = false;
  #idle: Array<() => void> = [];

  constructor(config: EngineConfig, codec: Codec, publisher: EventPublisher) {
    const { world, log, concurrency, hotRuns, hotBytes } = config;
    this.#config = config;
    this.#publisher = publisher;
    this.id = world.random.id(world.clock.now());
    this.clock = new TimerQueue(world.clock, config.timerResolutionMs);
    this.#programs = new ProgramRegistry(
      config.workflows.values(),
      { ...config, codec, log: config.codeLog },
      config.policy,
    );
    this.#rejections = world.trackRejections((runId, error) => this.#onUnhandledRejection(runId, error));
    this.#releases = new ResourceReleases(log, (failure) =>
      publisher.event({ kind: "resource.releaseFailed", ...failure }),
    );
    const events = this.#events();
    const storeClock = new StoreClock(config.store, this.clock, () => world.clock.ticks?.() ?? null);
    const limits = { workingMax: concurrency, parkedMax: hotRuns, parkedBytesMax: hotBytes };
    this.#sessions = new SessionPool(limits, storeClock.wakeAt, events);
    ({ committer: this.#committer, coordinator: this.coordinator } = createCommitPath(
      config,
      this.clock,
      this.#commitEvents(),
    ));
    this.reader = callerReader(config.store.reader, (call) => this.withRetry(call));
    this.#probe = new StoreProbe({
      coordinator: this.coordinator,
      clock: this.clock,
      isDown: () => this.#committer.down,
    });
    this.#suspects = new SuspectGroup({
      sessions: this.#sessions,
      isIdle: () => this.#loader.hasNoWork,
      clock: this.clock,
      leaseMs: config.leaseMs,
      events,
    });
    this.#blockedSteps = new BlockedSteps({
      leaseMs: config.leaseMs,
      log,
      runningSteps: () => this.#runningSteps(),
    });
    this.#loop = this.#createLoop(events);
    const { coordinator, pendingStarts } = this;
    this.#loader = new SessionLoader(
      {
        worker: this.id,
        programs: this.#programs,
        sessions: this.#sessions,
        pendingStarts,
        coordinator,
        config,
        blockedSteps: this.#blockedSteps,
        restoreMissedEnds: (loaded) => restoreMissedEnds(this.#missedEndsParts(), loaded),
        events,
      },
      this.#sessionServices(codec, storeClock),
    );
    this.#claimedRuns = new ClaimedRuns({
      config,
      codec,
      publisher,
      sessions: this.#sessions,
      loader: this.#loader,
      coordinator,
      suspects: this.#suspects,
    });
  }

  /** Reserves a slot for a run that is about to be started. Null if this worker cannot execute it at once. */
  reserveSlot(workflow: WorkflowRef): Slot | null {
    return this.#stopping || !this.#programs.has(workflow) ? null : this.#sessions.reserveSlot();
  }

  /** Whether this process sees the run's end by itself. Another process may end a parked run without a notice. */
  isLocal(runId: string): boolean {
    return this.#sessions.get(runId)?.isParked === false || this.pendingStarts.has(runId);
  }

  async start(): Promise<void> {
    const handlers = { worker: this.id, sessions: this.#sessions, loader: this.#loader, loop: this.#loop };
    this.#unwatch = this.#config.store.watch((hint) => handleHint(hint, handlers));
    if (this.#programs.refs.length > 0) await this.#loop.start();
  }

  /** Executes runs of this workflow too, from now on. Call it again if the store failed; code that is registered stays. */
  async register(workflow: Parameters<ProgramRegistry["add"]>[0]): Promise<void> {
    if (!this.#programs.has(workflow)) this.#programs.add(workflow);
    await this.#loop.start();
  }

  /** Starts a run that was just created with this worker as its owner. */
  enqueueStart(start: PendingStart): void {
    this.#loader.enqueueStart(start);
  }

  /** Retries a store call by the storage retry policy. Rejects with STORE_UNAVAILABLE after the last attempt, or after `storageTimeout`. */
  withRetry<T>(call: () => Promise<T>): Promise<T> {
    return this.#committer.forCaller(() => this.#committer.retrying(call));
  }

  /** Polls at the end of this event-loop turn, because a run may have become claimable. */
  requestPoll(): void {
    this.#loop.requestPoll();
  }

  recover(): Promise<{ readonly freed: number; readonly claimed: number; readonly due: number }> {
    return this.#committer.forCaller(async () => {
      const freed = await this.#loop.heartbeat();
      return { freed, ...(await this.#loop.claimRound()) };
    });
  }

  /**
   * Call this before an operator action of this process takes a run over. The returned function discards the session that the run
   * has now, but none that a later claim opened: the reply to the action may be late.
   */
  capture(runId: string): (reason: Error) => void {
    const session = this.#sessions.get(runId);
    return (reason) => {
      this.pendingStarts.drop(runId);
      if (session !== undefined && this.#sessions.get(runId) === session) this.#loader.discard(runId, reason);
    };
  }

  /** Stops claiming, waits at most `drainMs` for working sessions, then releases the runs that still work. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    this.#loop.pauseClaims();
    this.#unwatch?.();
    if (!this.#loader.isIdle) {
      await waitAtMost(this.clock, drainMs, new Promise<void>((resolve) => this.#idle.push(resolve)));
    }
    this.#loader.close();
    for (const session of this.#sessions.all()) if (!session.isParked) session.release();
    // A store that does not reply must not keep the process alive. Runs that are not released are freed when the lease expires.
    await waitAtMost(this.clock, Math.max(drainMs, RELEASE_MS_MAX), this.coordinator.drained());
    this.#loader.discardAll(new PawlError("ENGINE_STOPPED", "the engine is shut down"));
    await waitAtMost(this.clock, RELEASE_MS_MAX, this.#releases.ended());
    await waitAtMost(this.clock, RELEASE_MS_MAX, this.#loop.retire());
    this.clock.clear();
    this.#rejections.stop();
  }

  #createLoop(events: WorkerEvents): WorkerLoop {
    const { store, world, log, leaseMs, pollMs, retention } = this.#config;
    return new WorkerLoop(
      { worker: this.id, workflows: this.#programs.refs, leaseMs, pollMs, claimMax: CLAIM_MAX, retention },
      {
        store,
        withRetry: (call) => this.#committer.retrying(call),
        clock: this.clock,
        eventLoop: world.eventLoop,
        log,
        delay: new EventLoopDelay(world.clock),
        processes: world.processes,
        room: () => this.#sessions.room,
        distrustOwnership: () => this.#loader.onLeaseLost(),
        ownershipUnknown: () => this.#loader.ownershipUnknown,
        lapsedRuns: () => this.#loader.executing(),
        suspects: this.#suspects,
        events,
      },
    );
  }

  #missedEndsParts(): MissedEndsParts {
    const { store, world } = this.#config;
    return { store, ops: this.coordinator, opId: () => world.random.id(store.now()) };
  }

  #sessionServices(codec: Codec, { hasPassed }: StoreClock): SessionServices {
    const { store, world, log } = this.#config;
    const now = (): number => store.now();
    return {
      time: { now, hasPassed, wakeAt: wakeBy(this.clock, now), clock: this.clock, eventLoop: world.eventLoop },
      random: world.random,
      codec,
      log,
      rejections: this.#rejections,
      releases: this.#releases,
      graceMs: this.#config.graceMs,
      policyOf: (run) => this.#programs.policyOf(run),
      undoChild: (child) => this.#committer.checked(() => startUndoRun({ store, codec, ops: this.coordinator }, child)),
      closeChild: (child) => this.#committer.checked(() => closeChild({ store, ops: this.coordinator }, child)),
      onIncident: (run, incident) => this.#publisher.incident(run, incident),
      events: this.#sessionEvents(),
    };
  }

  /** Routes the reports of sessions. */
  #sessionEvents(): SessionEvents {
    return {
      onAppendReady: (session) => this.coordinator.enlist(session),
      onCommitted: (session, op) => {
        this.#suspects.committed(op);
        this.#publisher.records(session.run, op);
      },
      onAppendRefused: (session, reason) => this.#loader.onAppendRefused(session, reason),
      onInboxStale: (session) => this.#loader.reload(session.runId),
      onParked: (session) => {
        this.#sessions.park(session);
        this.#publisher.plain("run.suspended", session.run);
        this.#onFreed();
      },
      onUnparked: (session) => {
        this.#sessions.unpark(session);
        this.#publisher.plain("run.woken", session.run);
      },
      onBlocked: (session, location, ms) => this.#blockedSteps.onReturned(session.run, location, ms),
      onEnded: (session) => this.#onEnded(session),
    };
  }

  /** Routes the reports of this worker's parts. */
  #events(): WorkerEvents {
    return {
      onClaimed: (runs) => this.#claimedRuns.claimed(runs),
      onDue: (runs) => this.#loader.wakeDue(runs),
      onOwned: (owned) => {
        this.#suspects.keep(owned);
        this.#loader.reconcile(owned);
      },
      onRenewed: (alive) => {
        this.#blockedSteps.onRenewed(alive);
        this.#publisher.event({ kind: "worker.renewed", worker: this.id });
      },
      onTimerLate: (ms) => this.#blockedSteps.onTimerLate(ms),
      onLeaseLost: () => this.#onLeaseLost(),
      onEvicted: (runId) => {
        this.coordinator.disown(runId);
        // Without hot sessions no timer of this process knows the run's deadline.
        if (this.#config.hotRuns === 0) this.#loop.requestPoll();
      },
      onFreed: () => this.#onFreed(),
      onDiscarded: (runId) => {
        this.coordinator.disown(runId);
        this.#suspects.remove(runId);
      },
      onRunLost: ({ id, workflow }, reason) => this.#publisher.event({ kind: "run.lost", runId: id, workflow, reason }),
      onPoisoned: (run, error) => this.#claimedRuns.failPoisoned(run, error),
      onUnloadable: (run, error) => this.#claimedRuns.failRun(run, error),
      onUnreadable: (run, error) => this.#claimedRuns.pauseRun(run, error),
      onUnknownWorkflow: (run) => this.#claimedRuns.release(run),
      onSuspectsCleared: () => this.#loop.requestPoll(),
      onFatalError: (error) => this.coordinator.stop(error),
    };
  }

  /** Routes the effects of commits. */
  #commitEvents(): CommitEvents {
    return {
      onDown: (error) => {
        this.#loop.pauseClaims();
        this.#probe.start();
        this.#publisher.event({ kind: "store.down", error });
      },
      onUp: () => {
        if (!this.#stopping) this.#loop.resumeClaims();
        this.#publisher.event({ kind: "store.up" });
      },
      onWakes: (wakes) => {
        for (const wake of wakes) {
          if (wake.owner === this.id) this.#loader.wake(wake);
          else if (wake.owner === null) this.#loop.requestPoll();
        }
      },
      onAnswered: () => this.#loader.onCommitted(),
      onBroken: (error) => this.#onBroken(error),
    };
  }

  #onEnded(session: RunSession): void {
    const { run, endState } = session;
    this.#sessions.remove(session);
    this.coordinator.disown(run.id);
    this.#onFreed();
    if (endState === null) return;
    this.#publisher.turnEnded(run, endState, session.isCompensating);
    if (endState.status === "continued") this.#loader.reload(run.id);
  }

  /** A slot is free: `stop` may be waiting for it, or there is a backlog or a lone suspect to claim. */
  #onFreed(): void {
    if (this.#loader.isIdle) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#loop.hasBacklog || this.#suspects.isReady) this.#loop.requestPoll();
  }

  #onLeaseLost(): void {
    const cause = this.#blockedSteps.lapseCause;
    this.#config.log("warn", "lease expired; checking which runs this worker still owns", {
      worker: this.id,
      runs: this.#sessions.size,
      ...(cause === null ? {} : { blockedBy: cause }),
    });
    this.#publisher.event({ kind: "worker.lapsed", worker: this.id });
    this.#loader.onLeaseLost();
    this.#loop.requestPoll();
  }

  #runningSteps(): readonly { readonly run: string; readonly location: string }[] {
    return [...this.#sessions.all()].flatMap(({ runId: run, runningSteps }) =>
      runningSteps.map((location) => ({ run, location })),
    );
  }

  #onUnhandledRejection(runId: string, error: unknown): void {
    this.#config.log("error", "unhandled rejection in workflow code", { run: runId, error: String(error) });
    this.#publisher.event({ kind: "unhandledRejection", runId, error });
  }

  /** The host must notice that this process works no more, so the process may end: `exitCodeWhenBroken`. */
  #onBroken(error: unknown): void {
    const { log, exitCodeWhenBroken: exitCode, world } = this.#config;
    this.#loop.stop();
    if (stopsEngine(error)) {
      const { code, message } = error;
      log("error", "engine stopped: store must not be used any more", { code, error: message });
      this.#loader.discardAll(error);
    } else {
      const text = "engine stopped: invariant violated, nothing invalid was written";
      log("error", text, { error: String(error), stack: error instanceof Error ? error.stack : undefined });
      this.#loader.discardAll(new PawlError("ENGINE_BROKEN", String(error), { cause: error }));
    }
    this.#publisher.event({ kind: "engine.broken", error });
    // After the turn, because listeners may have rejected promises whose callers log something.
    if (exitCode !== null) world.eventLoop.afterTurn(() => world.exit(exitCode));
  }
}

/**
 * The most transitions in one commit, the most ops that may wait for one, and the number of active runs that fill one. A commit keeps
 * the event loop busy: a larger one would delay everything else, and leave the CPU caches.
 */
const LIMITS = { batchMax: 500, queueMax: 20_000, busyMax: 500 };

/** The reports of the coordinator and its committer. */
interface CommitEvents {
  /** The store does not commit: the storage retries are used up, or a commit has no answer. */
  onDown(error: Error): void;
  /** A commit has succeeded again. */
  onUp(): void;
  /** Runs became ready in a commit of this process. */
  onWakes(wakes: readonly Wake[]): void;
  /** The answers of a batch were dispatched. */
  onAnswered(): void;
  /** An assertion failed. The coordinator commits nothing from now on. */
  onBroken(error: unknown): void;
}

function createCommitPath(
  { store, world, log, storageRetry: policy, storageTimeoutMs }: EngineConfig,
  clock: TimerQueue,
  { onDown, onUp, ...events }: CommitEvents,
): { readonly committer: Committer; readonly coordinator: Coordinator } {
  const timeouts = new TimeoutQueue(clock, storageTimeoutMs);
  const onUnusable = (error: PawlError): void => coordinator.stop(error);
  const reports = { onDown, onUp, onUnusable };
  const committer = new Committer({ store, clock, timeouts, random: world.random, policy, log, ...reports });
  const eventLoop = dueTimersFirst(world.eventLoop, clock);
  const { batchMax = LIMITS.batchMax, busyMax = LIMITS.busyMax } = store;
  const limits = { ...LIMITS, batchMax, busyMax };
  const callers = new TimeoutQueue<CallerOp>(clock, storageTimeoutMs);
  const coordinator = new Coordinator({ store, committer, callers, eventLoop, limits, ...events });
  return { committer, coordinator };
}

export interface HintHandlers {
  readonly worker: string;
  readonly sessions: { get(runId: string): Pick<RunSession, "isParked"> | undefined };
  readonly loader: {
    /** Whether this process is creating the run, or the run waits to start here. */
    isStarting(runId: string): boolean;
    /** Loads a run that this worker owns again, because something arrived for it. */
    reload(runId: string): void;
  };
  /** Starts a claim round. */
  readonly loop: { requestPoll(): void };
}

/**
 * Turns a hint into loads or a claim round. If the hint names the owner of a run, a hot run of this worker is reloaded directly, and a
 * run of another worker is ignored. A working run of this worker needs no hint.
 */
export function handleHint({ runIds, owners }: Hint, { worker, sessions, loader, loop }: HintHandlers): void {
  if (runIds === null) {
    loop.requestPoll();
    return;
  }
  let polls = false;
  let index = 0;
  for (const runId of runIds) {
    const owner = owners?.[index];
    index += 1;
    const session = sessions.get(runId);
    if (loader.isStarting(runId)) continue;
    if (owner === worker && session !== undefined) loader.reload(runId);
    else if (owner === worker || ((owner === undefined || owner === null) && session?.isParked !== false)) polls = true;
  }
  if (polls) loop.requestPoll();
}
