import { PawlError } from "../model/errors.ts";
import type { LostReason, RunView } from "../model/op.ts";
import { isTerminal, type Run, type RunFacts } from "../model/run.ts";
import type { Wake } from "../model/transition.ts";
import type { HeldRun } from "../rules/tables.ts";
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
  readonly expected: PendingStarts;
  readonly log: Log;
  readonly load: Store["load"];
  /** How many more runs the store has time for. */
  readonly room: () => number;
  /** None of those that were created here has yet to begin. */
  readonly onAllBegun: () => void;
  readonly own: (view: RunView) => void;
  readonly disown: (runId: string) => void;
  readonly onLost: (run: RunFacts, reason: string) => void;
  /** Why a run is not to be worked on, however it came here; null if it is. */
  readonly refuses: (run: Run) => Error | null;
  /** A run that is not to be worked on, or can't be: its input or a record can't be read. */
  readonly onHopeless: (run: Run, error: unknown) => void;
  /** A run of a workflow, or of a version, that is not registered here: one was continued as it. */
  readonly onUnknown: (run: Run) => void;
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
  readonly #world: SessionServices;
  /** Runs that are being read; true: something came meanwhile. */
  readonly #reading = new Map<string, boolean>();
  /** Runs that are being read, and of which what is read may be older than what is known here: a session that was made, a lapse. */
  readonly #overtaken = new Set<string>();
  readonly #beginnings: StartQueue;
  #closed = false;

  constructor(parts: SessionLoaderParts, world: SessionServices) {
    this.#parts = parts;
    this.#world = world;
    this.#beginnings = new StartQueue({ ...parts, turns: world.turns, begin: (beginning) => this.#begin(beginning) });
  }

  /** Whether nothing works, and nothing that was created here has yet to begin. */
  get isIdle(): boolean {
    return this.#parts.sessions.working === 0 && this.#beginnings.isEmpty;
  }

  /** Whether the run is being created for this worker, or has yet to begin here. */
  expects(runId: string): boolean {
    return this.#parts.expected.has(runId);
  }

  /** No session is made any more. */
  close(): void {
    this.#closed = true;
  }

  /** Interprets a run that was created for this worker: now, or when its turn has come. */
  take(beginning: PendingStart): void {
    beginning.isCreated = true;
    this.#beginnings.add(beginning);
  }

  /** There was a commit. */
  committed(): void {
    this.#beginnings.committed();
  }

  #begin(beginning: PendingStart): void {
    const { run } = beginning;
    if (this.#parts.expected.end(beginning)) this.interpret(createdRun(run));
    else this.arrived(run.id);
  }

  /** Interprets a run that this worker owns, unless it does so already. */
  interpret(loaded: Loaded): void {
    const { run } = loaded;
    const { programs, sessions, own, onHopeless, onUnknown } = this.#parts;
    const program = programs.of(run);
    if (this.#closed || sessions.get(run.id) !== undefined) return;
    if (this.#reading.has(run.id)) this.#overtaken.add(run.id);
    if (program === null) {
      onUnknown(run);
      return;
    }
    const refusal = this.#parts.refuses(run);
    if (refusal !== null) {
      onHopeless(run, refusal);
      return;
    }
    try {
      const session = new Session(this.#world, loaded, program);
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
      this.forget(run.id, error instanceof Error ? error : new Error(String(error)));
      onHopeless(run, error);
    }
  }

  /** Something may have come for a run that this worker owns: it is read, for the session it has or for a fresh one. */
  arrived(runId: string): void {
    this.#parts.expected.drop(runId);
    if (this.#reading.has(runId)) {
      this.#reading.set(runId, true);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    if (session !== undefined && !session.resting) void this.#read(runId);
    else this.#parts.sessions.whenRoom((slot) => void this.#read(runId).finally(() => slot.give()));
  }

  /** A commit of this process has woken a run that this worker owns. What it brings is enough for a hot session that rests. */
  woken(wake: Wake): void {
    const { runId, entries, epoch } = wake;
    const session = this.#parts.sessions.get(runId);
    const direct =
      entries !== null && session?.resting === true && session.run.epoch === epoch && !this.#reading.has(runId);
    if (!direct) {
      this.arrived(runId);
      return;
    }
    this.#parts.sessions.wakeWhenRoom(() => {
      if (this.#parts.sessions.get(runId) !== session || !session.receive(entries)) this.arrived(runId);
    });
  }

  /** Runs that this worker owns are due. A session that has seen its inbox needs no read; one that rests has an appointment. */
  due(runs: readonly DueRun[]): void {
    for (const { id, inboxLast } of runs) {
      const session = this.#parts.sessions.get(id);
      if (session === undefined || session.inboxSeen < inboxLast) this.arrived(id);
      else if (!session.resting) session.wake();
    }
  }

  /**
   * This worker was taken for dead. Sessions that rest are forgotten. Those at work may have lost their runs or not (a store may have
   * passed over a run that it was writing, and no list of what is held names one whose row says that it waits): no body of theirs begins
   * until they are read, which `reconcile` sees to. To forget one that is here still would begin its bodies again. What is being read may
   * have been read before the lapse, and is read anew.
   */
  lapsed(): void {
    const reason = new PawlError("OWNERSHIP_LOST", "the worker was silent for longer than its lease");
    this.#parts.expected.dropAll();
    for (const runId of this.#reading.keys()) this.#overtaken.add(runId);
    for (const session of this.#parts.sessions.all()) {
      if (session.resting) this.forget(session.runId, reason);
      else session.doubt();
    }
  }

  /**
   * Compares what is worked on here with what the store says that this worker holds. What is in doubt is read in any case, and what
   * waits to begin is not: it may be hundreds.
   */
  reconcile(held: readonly HeldRun[]): void {
    const epochs = new Map(held.map(({ id, epoch }) => [id, epoch]));
    for (const session of this.#parts.sessions.all()) {
      const epoch = epochs.get(session.runId);
      const isOurs = epoch === session.run.epoch || (session.resting && epoch === undefined);
      if (isOurs && !session.doubted) epochs.delete(session.runId);
      else epochs.set(session.runId, 0);
    }
    for (const [runId, epoch] of epochs) if (!this.#parts.expected.waits(runId, epoch)) this.arrived(runId);
  }

  /** Its last append was refused: another has the run, or it has ended. Or it is not known what was added: it is read. */
  lost(session: RunSession, reason: LostReason): void {
    const { run } = session;
    this.forget(
      run.id,
      new PawlError(
        "OWNERSHIP_LOST",
        `run ${run.id} is lost to this worker (${reason}); what was not committed is dropped`,
      ),
    );
    this.#parts.onLost(run, reason);
    if (reason === "unsure") this.arrived(run.id);
  }

  forget(runId: string, reason: Error): void {
    const session = this.#parts.sessions.get(runId);
    if (session === undefined) return;
    this.#parts.sessions.remove(session);
    this.#parts.disown(runId);
    session.abandon(reason);
  }

  /** Nothing that is here counts any more, and nothing comes. */
  forgetAll(reason: Error): void {
    this.close();
    for (const session of this.#parts.sessions.all()) this.forget(session.runId, reason);
  }

  async #read(runId: string): Promise<void> {
    if (this.#reading.has(runId)) {
      this.#reading.set(runId, true);
      return;
    }
    this.#reading.set(runId, false);
    this.#overtaken.delete(runId);
    const hot = this.#parts.sessions.get(runId);
    try {
      const loaded = await this.#parts.load(runId, hot?.seq);
      this.#settle(runId, hot, loaded);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // What is held or due is found again at the next beat or poll.
      this.#parts.log("warn", "a run could not be read; it is tried again", { run: runId, code: error.code });
    } finally {
      const again = this.#reading.get(runId) === true;
      this.#reading.delete(runId);
      if (again) this.arrived(runId);
    }
  }

  #settle(runId: string, hot: RunSession | undefined, loaded: Loaded | null): void {
    if (this.#overtaken.delete(runId)) {
      this.arrived(runId);
      return;
    }
    const session = this.#parts.sessions.get(runId);
    const ours = loaded !== null && loaded.run.owner === this.#parts.worker && !isTerminal(loaded.run.status);
    if (session !== undefined && (!ours || loaded.run.epoch !== session.run.epoch)) {
      this.lost(session, "fenced");
    } else if (session !== undefined && session === hot && ours) {
      session.refresh(loaded.run, loaded.inbox);
    } else if (session === undefined && ours) {
      // Read for a session that is gone: only what came after its records was read.
      if (hot === undefined) this.interpret(loaded);
      else this.arrived(runId);
    }
  }
}
