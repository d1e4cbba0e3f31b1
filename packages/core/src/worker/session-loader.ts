import { PawlError } from "../model/errors.ts";
import type { LostReason, RunView } from "../model/op.ts";
import { isTerminal, type Run, type RunFacts } from "../model/run.ts";
import type { Wake } from "../model/transition.ts";
import type { OwnedRun } from "../rules/tables.ts";
import type { ProgramRegistry } from "../runner/program-registry.ts";
import { Session } from "../runner/session.ts";
import type { RunSession, SessionServices } from "../runner/session-ports.ts";
import type { Log } from "../runtime/log.ts";
import type { DueRun, Loaded, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import type { SessionPool } from "./session-pool.ts";
import { createdRun, type PendingStart, type PendingStarts, StartQueue } from "./start-queue.ts";

export interface SessionLoaderParts {
  readonly worker: string;
  readonly programs: ProgramRegistry;
  readonly sessions: SessionPool;
  readonly pendingStarts: PendingStarts;
  readonly log: Log;
  readonly load: Store["load"];
  /** How many more runs the store has time for. */
  readonly room: () => number;
  /** None of those that were created here has yet to begin. */
  readonly onAllStarted: () => void;
  readonly own: (view: RunView) => void;
  readonly disown: (runId: string) => void;
  readonly onLost: (run: RunFacts, reason: string) => void;
  /** Why a run is not to be worked on, however it came here; null if it is. */
  readonly rejectionOf: (run: Run) => Error | null;
  /** A run that is not to be worked on, or can't be: its input or a record can't be read. */
  readonly onUnloadable: (run: Run, error: unknown) => void;
  /** A run of a workflow, or of a version, that is not registered here: one was continued as it. */
  readonly onUnknownWorkflow: (run: Run) => void;
}

/**
 * Makes sessions of the runs that this worker owns, brings them what arrives, and forgets them.
 *
 * 1. A run has at most one session in this process.
 * 2. What arrives while a run is read makes it be read once more: nothing that came is missed.
 * 3. A session whose run has another owner or epoch is forgotten.
 * 4. A run that is created here is worked on from what is known here, unless there was a sign of it before the answer: that may
 *    come when the run has been worked on already, and lost.
 */
export class SessionLoader {
  readonly #parts: SessionLoaderParts;
  readonly #services: SessionServices;
  /** Runs that are being read; true: something came meanwhile. */
  readonly #loading = new Map<string, boolean>();
  /** Runs that are being read, and of which what is read may be older than what is known here: a session that was made, a lapse. */
  readonly #staleLoads = new Set<string>();
  readonly #startQueue: StartQueue;
  #closed = false;

  constructor(parts: SessionLoaderParts, world: SessionServices) {
    this.#parts = parts;
    this.#services = world;
    this.#startQueue = new StartQueue({
      ...parts,
      eventLoop: world.eventLoop,
      start: (beginning) => this.#startRun(beginning),
    });
  }

  /** Whether nothing works, and nothing that was created here has yet to begin. */
  get isIdle(): boolean {
    return this.#parts.sessions.working === 0 && this.#startQueue.isEmpty;
  }

  /** Whether the run is being created for this worker, or has yet to begin here. */
  isStarting(runId: string): boolean {
    return this.#parts.pendingStarts.has(runId);
  }

  /** No session is made any more. */
  close(): void {
    this.#closed = true;
  }

  /** Interprets a run that was created for this worker: now, or when its turn has come. */
  enqueueStart(beginning: PendingStart): void {
    beginning.isCreated = true;
    this.#startQueue.add(beginning);
  }

  /** There was a commit. */
  onCommitted(): void {
    this.#startQueue.onCommitted();
  }

  #startRun(beginning: PendingStart): void {
    const { run } = beginning;
    if (this.#parts.pendingStarts.end(beginning)) this.open(createdRun(run));
    else this.reload(run.id);
  }

  /** Interprets a run that this worker owns, unless it does so already. */
  open(loaded: Loaded): void {
    const { run } = loaded;
    const { programs, sessions, own, onUnloadable: onHopeless, onUnknownWorkflow: onUnknown } = this.#parts;
    const program = programs.of(run);
    if (this.#closed || sessions.get(run.id) !== undefined) return;
    if (this.#loading.has(run.id)) this.#staleLoads.add(run.id);
    if (program === null) {
      onUnknown(run);
      return;
    }
    const refusal = this.#parts.rejectionOf(run);
    if (refusal !== null) {
      onHopeless(run, refusal);
      return;
    }
    try {
      const session = new Session(this.#services, loaded, program);
      own({
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
      onHopeless(run, error);
    }
  }

  /** Something may have come for a run that this worker owns: it is read, for the session it has or for a fresh one. */
  reload(runId: string): void {
    this.#parts.pendingStarts.drop(runId);
    if (this.#loading.has(runId)) {
      this.#loading.set(runId, true);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    if (session !== undefined && !session.isParked) void this.#load(runId);
    else this.#parts.sessions.withSlot((slot) => void this.#load(runId).finally(() => slot.release()));
  }

  /** A commit of this process has woken a run that this worker owns. What it brings is enough for a hot session that rests. */
  wake(wake: Wake): void {
    const { runId, entries, epoch } = wake;
    const session = this.#parts.sessions.get(runId);
    const direct =
      entries !== null && session?.isParked === true && session.run.epoch === epoch && !this.#loading.has(runId);
    if (!direct) {
      this.reload(runId);
      return;
    }
    this.#parts.sessions.wakeWithSlot(() => {
      if (this.#parts.sessions.get(runId) !== session || !session.receive(entries)) this.reload(runId);
    });
  }

  /** Runs that this worker owns are due. A session that has seen its inbox needs no read; one that rests has an appointment. */
  wakeDue(runs: readonly DueRun[]): void {
    for (const { id, inboxLast } of runs) {
      const session = this.#parts.sessions.get(id);
      if (session === undefined || session.inboxSeen < inboxLast) this.reload(id);
      else if (!session.isParked) session.wake();
    }
  }

  /**
   * This worker was taken for dead. Sessions that rest are forgotten. Those at work may have lost their runs or not (a store may have
   * passed over a run that it was writing, and no list of what is held names one whose row says that it waits): no body of theirs begins
   * until they are read, which `reconcile` sees to. To forget one that is here still would begin its bodies again. What is being read may
   * have been read before the lapse, and is read anew.
   */
  onLeaseLost(): void {
    const reason = new PawlError("OWNERSHIP_LOST", "the worker was silent for longer than its lease");
    this.#parts.pendingStarts.dropAll();
    for (const runId of this.#loading.keys()) this.#staleLoads.add(runId);
    for (const session of this.#parts.sessions.all()) {
      if (session.isParked) this.discard(session.runId, reason);
      else session.requireOwnershipCheck();
    }
  }

  /**
   * Compares what is worked on here with what the store says that this worker holds. What is in doubt is read in any case, and what
   * waits to begin is not: it may be hundreds.
   */
  reconcile(held: readonly OwnedRun[]): void {
    const epochs = new Map(held.map(({ id, epoch }) => [id, epoch]));
    for (const session of this.#parts.sessions.all()) {
      const epoch = epochs.get(session.runId);
      const isOurs = epoch === session.run.epoch || (session.isParked && epoch === undefined);
      if (isOurs && !session.ownershipUnknown) epochs.delete(session.runId);
      else epochs.set(session.runId, 0);
    }
    for (const [runId, epoch] of epochs) if (!this.#parts.pendingStarts.isWaiting(runId, epoch)) this.reload(runId);
  }

  /** Its last append was refused: another has the run, or it has ended. Or it is not known what was added: it is read. */
  onAppendRefused(session: RunSession, reason: LostReason): void {
    const { run } = session;
    this.discard(
      run.id,
      new PawlError(
        "OWNERSHIP_LOST",
        `run ${run.id} is lost to this worker (${reason}); what was not committed is dropped`,
      ),
    );
    this.#parts.onLost(run, reason);
    if (reason === "unsure") this.reload(run.id);
  }

  discard(runId: string, reason: Error): void {
    const session = this.#parts.sessions.get(runId);
    if (session === undefined) return;
    this.#parts.sessions.remove(session);
    this.#parts.disown(runId);
    session.abandon(reason);
  }

  /** Nothing that is here counts any more, and nothing comes. */
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
      const loaded = await this.#parts.load(runId, hot?.seq);
      this.#finishLoad(runId, hot, loaded);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // What is held or due is found again at the next beat or poll.
      this.#parts.log("warn", "a run could not be read; it is tried again", { run: runId, code: error.code });
    } finally {
      const again = this.#loading.get(runId) === true;
      this.#loading.delete(runId);
      if (again) this.reload(runId);
    }
  }

  #finishLoad(runId: string, hot: RunSession | undefined, loaded: Loaded | null): void {
    if (this.#staleLoads.delete(runId)) {
      this.reload(runId);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    const ours = loaded !== null && loaded.run.owner === this.#parts.worker && !isTerminal(loaded.run.status);
    if (session !== undefined && (!ours || loaded.run.epoch !== session.run.epoch)) {
      this.onAppendRefused(session, "fenced");
    } else if (session !== undefined && session === hot && ours) {
      session.refresh(loaded.run, loaded.inbox);
    } else if (session === undefined && ours) {
      // Read for a session that is gone: only what came after its records was read.
      if (hot === undefined) this.open(loaded);
      else this.reload(runId);
    }
  }
}
