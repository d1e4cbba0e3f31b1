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
  readonly expected = new PendingStarts();
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #news: EventPublisher;
  readonly #programs: ProgramRegistry;
  readonly #sessions: SessionPool;
  readonly #workshop: SessionLoader;
  readonly #committer: Committer;
  readonly #ownership: WorkerLoop;
  readonly #strays: UnhandledRejections;
  readonly #intake: ClaimedRuns;
  readonly #releases: ResourceReleases;
  #unwatch: (() => void) | null = null;
  #stopping = false;
  #idle: Array<() => void> = [];

  constructor(config: EngineConfig, codec: Codec, news: EventPublisher) {
    const { world, log } = config;
    this.#config = config;
    this.#codec = codec;
    this.#news = news;
    this.id = world.random.id(world.clock.now());
    this.clock = new TimerQueue(world.clock, config.timerResolutionMs);
    const around = sessionServices(config, this.clock, codec);
    this.#sessions = new SessionPool(
      { workingMax: config.concurrency, restingMax: config.hotRuns, restingBytesMax: config.hotBytes },
      around.appoint,
      (runId) => {
        this.coordinator.disown(runId);
        // Where none stays, the store's deadlines are the only ones there are.
        if (config.hotRuns === 0) this.#ownership.kick();
      },
    );
    this.#programs = new ProgramRegistry(config.workflows.values(), { ...config, codec, log }, config.policy);
    this.#strays = world.catchStrays((runId, error) => {
      log("error", "a rejection in a run's code was handled by nobody", { run: runId, error: String(error) });
      news.event({ kind: "unhandledRejection", runId, error });
    });
    const { committer, coordinator } = this.#createStorage();
    this.#committer = committer;
    this.coordinator = coordinator;
    this.#releases = new ResourceReleases(log, (failure) => news.event({ kind: "resource.releaseFailed", ...failure }));
    this.#ownership = this.#createOwnership();
    this.#workshop = new SessionLoader(
      {
        worker: this.id,
        programs: this.#programs,
        sessions: this.#sessions,
        expected: this.expected,
        log,
        load: (runId, afterSeq) => config.store.load(runId, afterSeq),
        room: () => this.coordinator.room,
        onAllBegun: () => this.#freed(),
        own: (view) => this.coordinator.own(view),
        disown: (runId) => {
          this.coordinator.disown(runId);
          this.#intake.cleared(runId);
        },
        onLost: (run, reason) => news.event({ kind: "run.lost", runId: run.id, workflow: run.workflow, reason }),
        refuses: (run) => poisonOf(run, config.claimsMax),
        onHopeless: (run, error) => this.#intake.park(run, error),
        onUnknown: (run) => this.#intake.giveBack(run),
      },
      this.#sessionWorld(around),
    );
    this.#intake = new ClaimedRuns({
      config,
      codec,
      news,
      sessions: this.#sessions,
      workshop: this.#workshop,
      coordinator: this.coordinator,
      onCleared: () => this.#ownership.kick(),
    });
  }

  /** Keeps a slot for a run that is about to be started; null if it can't be worked on here at once. */
  keepSlot(workflow: WorkflowRef): Slot | null {
    return this.#stopping || !this.#programs.has(workflow) ? null : this.#sessions.keep();
  }

  /** Whether this process hears of the run's end by itself. One that rests may be ended by others, who tell nobody. */
  hears(runId: string): boolean {
    return this.#sessions.get(runId)?.resting === false || this.expected.has(runId);
  }

  async start(): Promise<void> {
    const heeding = { worker: this.id, sessions: this.#sessions, workshop: this.#workshop, ownership: this.#ownership };
    this.#unwatch = this.#config.store.watch((hint) => handleHint(hint, heeding));
    if (this.#programs.refs.length > 0) await this.#ownership.start();
  }

  /** Works on runs of this workflow too, from here on. */
  async register(workflow: Parameters<ProgramRegistry["add"]>[0]): Promise<void> {
    this.#programs.add(workflow);
    await this.#ownership.start();
  }

  /** Interprets a run that was created a moment ago with this worker as its owner. */
  take(beginning: PendingStart): void {
    this.#workshop.take(beginning);
  }

  /** Makes a call until it reaches the store; a caller is told if it does not. */
  reaching<T>(call: () => Promise<T>): Promise<T> {
    return this.#committer.answering(call);
  }

  /** Asks for work now: a run may have become claimable. */
  kick(): void {
    this.#ownership.kick();
  }

  async recover(): Promise<{ readonly freed: number; readonly claimed: number; readonly due: number }> {
    const freed = await this.#ownership.beat();
    return { freed, ...(await this.#ownership.look()) };
  }

  /**
   * Before a call to this very process takes a run over from outside. What is given lets go of what the process has of the run
   * by then, and of nothing that it has claimed since: the answer to the call may be late.
   */
  grip(runId: string): (reason: Error) => void {
    const session = this.#sessions.get(runId);
    return (reason) => {
      this.expected.drop(runId);
      if (session !== undefined && this.#sessions.get(runId) === session) this.#workshop.forget(runId, reason);
    };
  }

  /** Stops claiming, waits until nothing works or time is up, gives back what still does. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    this.#ownership.hold();
    this.#unwatch?.();
    if (!this.#workshop.isIdle) {
      await waitAtMost(this.clock, drainMs, new Promise<void>((resolve) => this.#idle.push(resolve)));
    }
    this.#workshop.close();
    for (const session of this.#sessions.all()) if (!session.resting) session.release();
    // A store that does not answer must not keep the process: what is not given back is free when the lease is over.
    await waitAtMost(this.clock, Math.max(drainMs, GIVE_BACK_MS), this.coordinator.drained());
    this.#workshop.forgetAll(new PawlError("ENGINE_STOPPED", "the engine is shut down"));
    await waitAtMost(this.clock, GIVE_BACK_MS, this.#releases.ended());
    await waitAtMost(this.clock, GIVE_BACK_MS, this.#ownership.retire());
    this.clock.clear();
    this.#strays.stop();
  }

  #createStorage(): Storage {
    return createCoordinator(this.#config, this.clock, {
      onDown: (error) => {
        this.#ownership.hold();
        this.#news.event({ kind: "store.down", error });
      },
      onUp: () => {
        if (!this.#stopping) this.#ownership.unhold();
        this.#news.event({ kind: "store.up" });
      },
      onWakes: (wakes) => this.#woken(wakes),
      onAnswered: () => this.#workshop.committed(),
      onBroken: (error) => this.#broken(error),
    });
  }

  #createOwnership(): WorkerLoop {
    const { store, world, log, leaseMs, pollMs, retention } = this.#config;
    return new WorkerLoop(
      { worker: this.id, workflows: this.#programs.refs, leaseMs, pollMs, claimMax: CLAIM_MAX, retention },
      {
        store,
        reaching: (call) => this.#committer.reaching(call),
        clock: this.clock,
        turns: world.turns,
        log,
        room: () => this.#sessions.room,
        suspectRoom: () => this.#intake.suspectRoom,
        onClaimed: (runs) => this.#intake.claimed(runs),
        onDue: (runs) => this.#workshop.due(runs),
        onHeld: (held) => {
          this.coordinator.reached();
          this.#intake.holds(held);
          this.#workshop.reconcile(held);
        },
        onLapsed: () => this.#lapsed(),
      },
    );
  }

  #sessionWorld(around: ReturnType<typeof sessionServices>): SessionServices {
    const { store } = this.#config;
    return {
      ...around,
      policyOf: (run) => this.#programs.policyOf(run),
      releases: this.#releases,
      behind: (session) => this.#workshop.arrived(session.runId),
      within: this.#strays.within,
      beside: this.#strays.beside,
      enlist: (session) => this.coordinator.enlist(session),
      committed: (session, op) => {
        this.#intake.cleared(session.runId);
        this.#news.records(session.run, op);
      },
      woke: (session) => {
        this.#sessions.woke(session);
        this.#news.plain("run.woken", session.run);
      },
      rested: (session) => this.#rested(session),
      ended: (session) => this.#ended(session),
      lost: (session, reason) => this.#workshop.lost(session, reason),
      undoChild: (child) => startUndoRun({ store, codec: this.#codec, ops: this.coordinator }, child),
    };
  }

  #woken(wakes: readonly Wake[]): void {
    for (const wake of wakes) {
      if (wake.owner === this.id) this.#workshop.woken(wake);
      else if (wake.owner === null) this.#ownership.kick();
    }
  }

  #rested(session: RunSession): void {
    this.#sessions.rested(session);
    this.#news.plain("run.suspended", session.run);
    this.#freed();
  }

  #ended(session: RunSession): void {
    const { run, end } = session;
    this.#sessions.remove(session);
    this.coordinator.disown(run.id);
    this.#freed();
    if (end === null) return;
    this.#news.left(run, end, session.undoes);
    if (end.status === "continued") this.#workshop.arrived(run.id);
  }

  /** A slot is free: those who wait for the end of work, and runs that nobody owns, hear of it. */
  #freed(): void {
    if (this.#workshop.isIdle) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#ownership.wantsRoom) this.#ownership.kick();
  }

  #lapsed(): void {
    this.#config.log("warn", "this worker was silent for longer than its lease: it looks which runs it has still", {
      worker: this.id,
      runs: this.#sessions.size,
    });
    this.#news.event({ kind: "worker.lapsed", worker: this.id });
    this.#workshop.lapsed();
    this.#ownership.kick();
  }

  #broken(error: unknown): void {
    this.#config.log("error", "the engine stopped before it could write a wrong state", { error: String(error) });
    this.#ownership.stop();
    this.#workshop.forgetAll(new PawlError("ENGINE_BROKEN", String(error), { cause: error }));
    this.#news.event({ kind: "engine.broken", error });
  }
}

type Surroundings = Pick<
  SessionServices,
  "now" | "hasCome" | "clock" | "turns" | "random" | "codec" | "log" | "wakeAt"
> & {
  /** Calls back when a deadline has come, for certain where the store can say it in time. */
  readonly appoint: StoreClock["wakeAt"];
};

/** What surrounds all sessions, whatever worker they have: clocks, turns, chance, the log. */
export function sessionServices({ store, world, log }: EngineConfig, clock: TimerQueue, codec: Codec): Surroundings {
  const now = (): number => store.now();
  const { turns, random } = world;
  const ticks = (): number | null => world.clock.ticks?.() ?? null;
  const { hasCome, wakeAt: appoint } = new StoreClock(store, clock, ticks);
  return { now, hasCome, clock, turns, random, codec, log, wakeAt: wakeBy(clock, now), appoint };
}

/**
 * Transitions in one commit, and ops that may wait for one. A commit keeps the loop busy, so more at once would keep all else waiting for
 * longer, and run out of the cache. As many runs under way fill a commit.
 */
const LIMITS = { batchMax: 500, queueMax: 20_000, busyMax: 500 };

/** A worker's way to its store. */
export interface Storage {
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
): Storage {
  const { onDown, onUp, ...rest } = hooks;
  const committer = new Committer({ store, clock, random: world.random, policy, log, onDown, onUp });
  const turns = dueTimersFirst(world.turns, clock);
  const { batchMax = LIMITS.batchMax, busyMax = LIMITS.busyMax } = store;
  const limits = { ...LIMITS, batchMax, busyMax };
  const coordinator = new Coordinator({ store, committer, turns, limits, ...rest });
  return { committer, coordinator };
}

export interface HintHandlers {
  readonly worker: string;
  readonly sessions: { get(runId: string): Pick<RunSession, "resting"> | undefined };
  readonly workshop: {
    /** Whether this worker is about to begin the run. */
    expects(runId: string): boolean;
    /** Reads what has come for a run that this worker owns. */
    arrived(runId: string): void;
  };
  /** Looks for whatever is due. */
  readonly ownership: { kick(): void };
}

/**
 * What a hint means to a worker. Where the store tells who owns a run, what has come for a hot one is read without asking what is
 * due, and what others own is theirs to see. What a worker has in its hands it needs no hint for.
 */
export function handleHint({ runIds, owners }: Hint, { worker, sessions, workshop, ownership }: HintHandlers): void {
  if (runIds === null) {
    ownership.kick();
    return;
  }
  let looks = false;
  let index = 0;
  for (const runId of runIds) {
    const owner = owners?.[index];
    index += 1;
    const session = sessions.get(runId);
    if (workshop.expects(runId)) continue;
    if (owner === worker && session !== undefined) workshop.arrived(runId);
    else if (owner === worker || ((owner === undefined || owner === null) && session?.resting !== false)) looks = true;
  }
  if (looks) ownership.kick();
}
