import type { Coordinator } from "../coordinator/coordinator.ts";
import type { EngineConfig } from "../engine/config.ts";
import { PawlError } from "../model/errors.ts";
import type { LostReason } from "../model/op.ts";
import { isUnreadable } from "../model/payload.ts";
import { isTerminal, type Run } from "../model/run.ts";
import type { Wake } from "../model/transition.ts";
import type { LapsedRun, OwnedRun } from "../rules/tables.ts";
import { unstartable } from "../runner/limits.ts";
import type { ProgramRegistry } from "../runner/program-registry.ts";
import { Session } from "../runner/session.ts";
import type { RunSession, SessionServices } from "../runner/session-ports.ts";
import type { DueRun, Loaded } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { type BlockedStep, type BlockedSteps, blockedText } from "./blocked-steps.ts";
import type { SessionPool } from "./session-pool.ts";
import { createdRun, type PendingStart, type PendingStarts, StartQueue } from "./start-queue.ts";
import type { WorkerEvents } from "./worker-events.ts";

export interface SessionLoaderParts {
  readonly worker: string;
  readonly programs: ProgramRegistry;
  readonly sessions: SessionPool;
  readonly pendingStarts: PendingStarts;
  readonly coordinator: Pick<Coordinator, "own" | "room">;
  readonly config: Pick<EngineConfig, "store" | "log" | "claimsMax">;
  readonly blockedSteps: BlockedSteps;
  /** Returns missed ends of children to the inbox of a reopened run. True if the run must be loaded again. */
  readonly restoreMissedEnds: (loaded: Loaded) => Promise<boolean>;
  readonly events: WorkerEvents;
}

/**
 * Loads the runs that this worker owns into sessions, delivers what arrives for them, and discards them.
 *
 * 1. A run has at most one session in this process.
 * 2. If something arrives while a run is being loaded, the run is loaded again. Nothing is missed.
 * 3. A session is discarded when its run has another owner or epoch. Exception: a working session whose run was freed, and not claimed
 *    since, is kept. It starts no step until a heartbeat has taken the run back.
 * 4. A run created here starts without a load. Exception: if a claim, a hint or a second start of the same id was seen before the
 *    create was acknowledged, the run is loaded, because another worker may already have executed it.
 */
export class SessionLoader {
  readonly #parts: SessionLoaderParts;
  readonly #services: SessionServices;
  /** Runs being loaded. True if something arrived since the load began. */
  readonly #loading = new Map<string, boolean>();
  /** Runs being loaded whose load may be older than a session opened, or a lease lost, since it began. */
  readonly #staleLoads = new Set<string>();
  readonly #startQueue: StartQueue;
  #closed = false;

  constructor(parts: SessionLoaderParts, services: SessionServices) {
    this.#parts = parts;
    this.#services = services;
    this.#startQueue = new StartQueue({
      room: () => parts.coordinator.room,
      eventLoop: services.time.eventLoop,
      start: (start) => this.#startRun(start),
      onAllStarted: () => parts.events.onFreed(),
    });
  }

  /** Whether no session works and no created run waits to start. */
  get isIdle(): boolean {
    return this.#parts.sessions.working === 0 && this.#startQueue.isEmpty;
  }

  /** Whether no session works, and none is about to: a load may wake a session that was parked since it began. */
  get hasNoWork(): boolean {
    return this.#parts.sessions.isIdle && this.#loading.size === 0;
  }

  /** Whether this process is creating the run, or the run waits in the start queue. */
  isStarting(runId: string): boolean {
    return this.#parts.pendingStarts.has(runId);
  }

  /** Opens no session from now on. */
  close(): void {
    this.#closed = true;
  }

  /** Starts a run that was created for this worker, at once or when the start queue reaches it. */
  enqueueStart(start: PendingStart): void {
    start.isCreated = true;
    this.#startQueue.add(start);
  }

  /** A batch was committed. */
  onCommitted(): void {
    this.#startQueue.onCommitted();
  }

  #startRun(start: PendingStart): void {
    const { run } = start;
    if (this.#parts.pendingStarts.end(start)) this.open(createdRun(run));
    else this.reload(run.id);
  }

  /** Opens a session for a run that this worker owns, unless it has one. */
  open(loaded: Loaded): void {
    const { run } = loaded;
    const { programs, sessions, coordinator, config, events } = this.#parts;
    const program = programs.of(run);
    if (this.#closed || sessions.get(run.id) !== undefined) return;
    if (this.#loading.has(run.id)) this.#staleLoads.add(run.id);
    if (program === null) {
      events.onUnknownWorkflow(run);
      return;
    }
    const poison = poisonOf(run, config.claimsMax, this.#parts.blockedSteps.ofRun(run.id));
    if (poison !== null) {
      events.onPoisoned(run, poison);
      return;
    }
    const late = isFresh(loaded) ? unstartable(run, this.#services.time.now()) : null;
    if (late !== null) {
      events.onUnloadable(run, late);
      return;
    }
    try {
      const session = new Session(this.#services, loaded, program);
      coordinator.own({
        id: run.id,
        status: run.status,
        epoch: run.epoch,
        turn: run.turn,
        seq: session.seq,
        parent: run.parent,
        undo: run.undo,
      });
      sessions.add(session);
      session.start(loaded);
    } catch (error) {
      this.discard(run.id, error instanceof Error ? error : new Error(String(error)));
      if (isUnreadable(error)) events.onUnreadable(run, error);
      else events.onUnloadable(run, error);
    }
  }

  /** Loads a run that this worker owns, because something may have arrived: for its session, or for a fresh one. */
  reload(runId: string): void {
    this.#parts.pendingStarts.drop(runId);
    if (this.#loading.has(runId)) {
      this.#loading.set(runId, true);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    if (session !== undefined && !session.isParked) void this.#load(runId);
    else this.#parts.sessions.withSlot(runId, (slot) => void this.#load(runId).finally(() => slot.release()));
  }

  /** A commit of this process woke a run of this worker. A hot parked session needs no load: the wake-up has its entries. */
  wake(wake: Wake): void {
    const { runId, entries, epoch } = wake;
    const session = this.#parts.sessions.get(runId);
    const direct =
      entries !== null && session?.isParked === true && session.run.epoch === epoch && !this.#loading.has(runId);
    if (!direct) {
      this.reload(runId);
      return;
    }
    this.#parts.sessions.wakeWithSlot(runId, () => {
      if (this.#parts.sessions.get(runId) !== session || !session.receive(entries)) this.reload(runId);
    });
  }

  /** Wakes due runs of this worker. A session that has seen its whole inbox needs no load; a parked one has a timer. */
  wakeDue(runs: readonly DueRun[]): void {
    for (const { id, inboxLast } of runs) {
      const session = this.#parts.sessions.get(id);
      if (session === undefined || session.inboxSeen < inboxLast) this.reload(id);
      else if (!session.isParked) session.wake();
    }
  }

  /** Whether a working session waits for a check that this worker still owns its run. */
  get ownershipUnknown(): boolean {
    for (const { isParked, endState, ownershipUnknown } of this.#parts.sessions.all())
      if (ownershipUnknown && !isParked && endState === null) return true;
    return false;
  }

  /** The runs that sessions of this worker execute. */
  executing(): readonly LapsedRun[] {
    const runs: LapsedRun[] = [];
    for (const { runId: id, run, isParked, endState } of this.#parts.sessions.all())
      if (!isParked && endState === null)
        runs.push({ id, epoch: run.epoch, isBlameless: this.#parts.blockedSteps.isBlameless(id) });
    return runs;
  }

  /**
   * The lease expired, so any run may have another owner now. Parked sessions are discarded. Working sessions are kept, because
   * discarding one whose run is still ours would execute its running steps twice; they start no step until `reconcile` has
   * reloaded the run. Loads in progress may predate the expiry and are repeated.
   */
  onLeaseLost(): void {
    const reason = new PawlError("OWNERSHIP_LOST", `this worker's lease expired${this.#lapseText()}`);
    this.#parts.pendingStarts.dropAll();
    for (const runId of this.#loading.keys()) this.#staleLoads.add(runId);
    for (const session of this.#parts.sessions.all()) {
      if (session.isParked) this.discard(session.runId, reason);
      else session.requireOwnershipCheck();
    }
  }

  /**
   * Compares the sessions with the runs that the store lists as owned, and reloads those that differ. A run whose ownership is unknown
   * is always reloaded. A run that waits to start is not: there may be hundreds.
   */
  reconcile(owned: readonly OwnedRun[]): void {
    const epochs = new Map(owned.map(({ id, epoch }) => [id, epoch]));
    for (const session of this.#parts.sessions.all()) {
      const epoch = epochs.get(session.runId);
      const isOurs = epoch === session.run.epoch || (session.isParked && epoch === undefined);
      if (isOurs && !session.ownershipUnknown) epochs.delete(session.runId);
      else epochs.set(session.runId, 0);
    }
    for (const [runId, epoch] of epochs) if (!this.#parts.pendingStarts.isWaiting(runId, epoch)) this.reload(runId);
  }

  /** Discards a session whose append was refused. If the outcome is unknown (`unsure`), the run is reloaded. */
  onAppendRefused(session: RunSession, reason: LostReason): void {
    const { run } = session;
    const cause = reason === "fenced" ? this.#lapseText() : "";
    const text = `this worker lost run ${run.id} (${reason})${cause}; uncommitted results were discarded`;
    this.discard(run.id, new PawlError("OWNERSHIP_LOST", text));
    this.#parts.events.onRunLost(run, reason);
    if (reason === "unsure") this.reload(run.id);
  }

  /** The cause of the last expiry of the lease, if it is known. */
  #lapseText(): string {
    const cause = this.#parts.blockedSteps.lapseCause;
    return cause === null ? "" : `: ${blockedText(cause)}`;
  }

  discard(runId: string, reason: Error): void {
    const session = this.#parts.sessions.get(runId);
    if (session === undefined) return;
    this.#parts.sessions.remove(session);
    this.#parts.events.onDiscarded(runId);
    session.abandon(reason);
  }

  /** Discards every session and opens no other. */
  discardAll(reason: Error): void {
    this.close();
    for (const session of this.#parts.sessions.all()) this.discard(session.runId, reason);
  }

  async #load(runId: string): Promise<void> {
    if (this.#loading.has(runId)) {
      this.#loading.set(runId, true);
      return;
    }
    this.#loading.set(runId, false);
    this.#staleLoads.delete(runId);
    const hot = this.#parts.sessions.get(runId);
    try {
      const loaded = await this.#parts.config.store.load(runId, hot?.seq, hot?.inboxSeen);
      if (hot === undefined && this.#isOurs(loaded) && (await this.#parts.restoreMissedEnds(loaded))) return;
      this.#finishLoad(runId, hot, loaded);
    } catch (error) {
      if (!(error instanceof StoreError)) {
        this.#parts.events.onFatalError(error);
        return;
      }
      // The next heartbeat or poll finds the run again.
      this.#parts.config.log("warn", "could not load run; will retry", { run: runId, code: error.code });
    } finally {
      const again = this.#loading.get(runId) === true;
      this.#loading.delete(runId);
      if (again) this.reload(runId);
    }
  }

  #isOurs(loaded: Loaded | null): loaded is Loaded {
    return loaded !== null && loaded.run.owner === this.#parts.worker && !isTerminal(loaded.run.status);
  }

  #finishLoad(runId: string, hot: RunSession | undefined, loaded: Loaded | null): void {
    if (this.#staleLoads.delete(runId)) {
      this.reload(runId);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    // The answer to the append that ends the run decides. What was loaded may already contain that end.
    if (session !== undefined && session.endState !== null) return;
    const ours = this.#isOurs(loaded);
    if (session !== undefined && loaded !== null && isFreed(session, loaded.run)) {
      // A heartbeat that takes the run back may be under way. Without this session, the steps that are running would run twice.
      session.requireOwnershipCheck();
    } else if (session !== undefined && (!ours || loaded.run.epoch !== session.run.epoch)) {
      this.onAppendRefused(session, "fenced");
    } else if (session !== undefined && session === hot && ours) {
      session.refresh(loaded.run, loaded.inbox);
    } else if (session === undefined && ours) {
      // The load was for a session that is gone, and so lacks the records that session had.
      if (hot === undefined) this.open(loaded);
      else this.reload(runId);
    }
  }
}

/** Whether nothing of a run has been executed, and no operator has redirected it. */
function isFresh({ run, records, snapshot }: Loaded): boolean {
  return run.generation === 0 && records.length === 0 && snapshot === null && run.wait === null;
}

/** Whether the run of a working session was freed, and not claimed since: a heartbeat takes such a run back. */
function isFreed(session: RunSession, { owner, epoch, status, wait }: Run): boolean {
  const isWorking = status === "running" || (status === "compensating" && wait === null);
  return !session.isParked && owner === null && epoch === session.run.epoch && isWorking;
}

/** The failure of a run that crashed its workers more than `claimsMax` times. Null if the run may be executed. */
function poisonOf(run: Run, claimsMax: number, blocked: BlockedStep | null): PawlError | null {
  if (run.claims <= claimsMax) return null;
  const phase = run.undo === "underWay" ? " while it was compensating" : "";
  const lost = `run ${run.id} lost its worker ${run.claims - 1} times without progress${phase}`;
  const text =
    blocked === null
      ? `${lost}: each time the worker crashed or did not respond; see the step after its last record`
      : `${lost}: ${blockedText(blocked)}, longer than the lease; move its work to a worker thread`;
  return new PawlError("POISONED", text);
}
