import { type Failure, toError } from "../model/failure.ts";
import type { InboxEntry } from "../model/inbox.ts";
import type { Codec } from "../model/payload.ts";
import type { RecordKind, Stop } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes, Post } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";
import type { Command, Completion, MarkCommand, PostCommand, StepCommand } from "../workflow/command.ts";
import type {
  BrokenProgram,
  Ending,
  FinalEnding,
  JournalAhead,
  ProgramFactory,
  ProgramHost,
  ProgramIncident,
  ResumePoint,
} from "../workflow/program.ts";
import type { ResourceRequest } from "../workflow/resource-options.ts";
import { type Compensated, Compensation } from "./compensation.ts";
import type { CommandEnd, Completed } from "./completions.ts";
import { failurePayload } from "./failure-payload.ts";
import { JOURNAL_END, JournalCursor } from "./journal-cursor.ts";
import { waitSinceProgress, warningRecord } from "./limits.ts";
import { originOf, seedAfterFork, seedOf, skipOperatorRecords } from "./operator-records.ts";
import type { PendingAppend } from "./pending-append.ts";
import { readPayload } from "./read-payload.ts";
import { type Diverged, replayNext, replayStep } from "./replay.ts";
import { Resources } from "./resources.ts";
import { storableEnding } from "./run-end.ts";
import type { DriverOwner, SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { openRetries, type Snapshot, writeSnapshot } from "./snapshot.ts";
import type { AttemptResult, StepAttempt } from "./step-attempt.ts";

/**
 * Drives one program: replays its journal, then executes its commands and delivers their completions.
 *
 * 1. Completions reach the program one at a time, in seq order, in replay as when live.
 * 2. The presence of a record decides replay, never its value.
 * 3. A stopped program receives nothing more. Its completed steps are compensated, in replay as when live.
 * 4. A run completes when every step of its program has ended and is recorded, even if the program did not await it.
 * 5. A run that failed or was cancelled is stopped when its running steps have ended and are recorded, or after the grace.
 */
export class ProgramDriver implements ProgramHost {
  readonly run: RunFacts;
  readonly runId: string;
  readonly #owner: DriverOwner;
  readonly #state: SessionState;
  readonly #services: SessionServices;
  readonly #createProgram: ProgramFactory;
  /** The seed of the run that this part of the journal was copied from. Null if it was not copied. */
  #seed: string | null;
  /** JOURNAL_END once the program is live. */
  #cursor: JournalCursor;
  /** Created with the first request. */
  #resources: Resources | null = null;
  #snapshot: Snapshot | null;
  /** Commands issued since the last step. Null during replay. */
  #fresh: Command[] | null = null;
  #ending: Ending | null = null;
  /** A cancel request. It takes effect when the program is live, and stays in the inbox until then. */
  #cancel: Pick<InboxEntry, "n" | "value"> | null = null;
  #compensation: Compensation | null = null;
  /** Whether the program has returned and its open steps are finished before its run ends. */
  #isFinishing = false;
  /** Whether the run has failed or is cancelled, and running steps have time to end. */
  #isStopping = false;
  #isGraceOver = false;
  /** Whether the program ended when it was live, not in a replay. */
  #wasLiveAtEnd = false;
  #deliveredSeq: number;
  #now: number;

  constructor(parts: ProgramDriverParts, loaded: Loaded, snapshot: Snapshot | null, createProgram: ProgramFactory) {
    this.#owner = parts.owner;
    this.#state = parts.state;
    this.#services = parts.services;
    this.run = parts.run;
    this.runId = parts.run.id;
    this.#snapshot = snapshot;
    const origin = originOf(parts.state.codec, parts.run, loaded.records);
    this.#seed = origin.seed;
    const hasOpenWaits = waitSinceProgress(loaded.run, loaded.records) !== null;
    this.#cursor = new JournalCursor(loaded.records, hasOpenWaits);
    this.#deliveredSeq = snapshot?.seq ?? parts.run.baseSeq;
    this.#now = snapshot?.at ?? origin.at;
    this.#skipOperatorRecords();
    this.#updateSeed();
    if (this.#cursor.done && !hasOpenWaits) this.#cursor = JOURNAL_END;
    this.#createProgram = createProgram;
  }

  get edition(): number {
    return this.#state.edition;
  }

  get seed(): string {
    this.#updateSeed();
    return this.#seed ?? seedOf({ run: this.runId, generation: this.run.generation });
  }

  /** The number of records to replay. */
  get recordsLeft(): number {
    return this.#cursor.left;
  }

  get isCompensating(): boolean {
    return this.#compensation !== null;
  }

  get live(): boolean {
    return this.#cursor === JOURNAL_END;
  }

  get signal(): AbortSignal {
    return this.#owner.signal;
  }

  now(): number {
    return this.#now;
  }

  start(input: Payload): void {
    const value = readPayload(this.#state.codec, input, "the input");
    this.#createProgram(this).start(value, this.#snapshot);
    // Later only the retries are read.
    if (this.#snapshot !== null) this.#snapshot = { ...this.#snapshot, state: null };
  }

  get ahead(): JournalAhead {
    return this.#cursor;
  }

  encode(value: unknown, what: string): Payload {
    return this.#state.codec.encode(value, what);
  }

  cancelUnder(path: string, reason: Error): void {
    if (this.#compensation !== null) return;
    const { open, steps, loopRecords, undo } = this.#state;
    loopRecords.closeUnder(path);
    const closed = open.closeUnder(path);
    if (closed.length === 0) return;
    steps.drop(new Set(closed), reason);
    if (this.live) return;
    // Replay skips the records that were made of these commands before they were closed.
    for (const { location } of closed) this.#cursor.skipped.close(location);
    undo.closed(closed);
  }

  skip(location: string, kind: RecordKind): void {
    if (!this.live) this.#cursor.skipped.remove(location, kind);
  }

  startLoop(loop: string): ResumePoint | null {
    const point = this.#cursor.resumePoint(loop);
    this.#state.loopRecords.open(loop);
    if (point?.kind === "iteration") this.#cursor.skipped.startAt(loop, point.iteration);
    if (point?.kind === "ended") this.#cursor.skipped.startAt(loop, Number.POSITIVE_INFINITY);
    return point;
  }

  endLoop(loop: string): void {
    this.#state.loopRecords.close(loop);
  }

  firstUndoableIteration(loop: string): number {
    const { undo, children } = this.#state;
    return Math.min(undo.firstIteration(loop), children.firstIteration(loop));
  }

  /** Steps that are still running are abandoned. */
  endGrace(): void {
    this.#isGraceOver = true;
  }

  issue(command: Command): void {
    if (this.#hasEnded || this.#isStopping) return;
    this.#state.open.add(command);
    if (command.kind === "step" && this.#snapshot !== null)
      Object.assign(command, this.#snapshot.retries[command.location]);
    if (this.live) {
      this.#add(command);
      createDocuments(this.#state.pending, command);
    }
    this.#owner.wake();
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    if (this.#hasEnded) return;
    this.#state.pending.document({ mark: { kind, id, attributes } });
    // In replay the change was usually committed before; it goes with the next commit.
    if (this.live) this.#state.pending.requestCommit();
  }

  log(level: "info" | "warn" | "error", text: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.live) this.#services.log(level, text, { run: this.runId, ...fields });
  }

  incident(incident: ProgramIncident): void {
    if (!this.#hasEnded && !this.ahead.hasHistory) this.#services.onIncident(this.run, incident);
  }

  acquire(request: ResourceRequest): void {
    if (this.#hasEnded) return;
    this.#resources ??= new Resources(this.#services, this.run, () => this.#owner.wake());
    this.#resources.add(request);
  }

  /** Whether the program can be driven now. If a resource cannot be acquired, the program fails once its journal is replayed. */
  get resourcesReady(): boolean {
    if (this.#resources === null) return true;
    const { failure: error } = this.#resources;
    // Before a new resource is delivered: the program could end without using it.
    if (error !== null && this.#cursor.done) this.finish({ kind: "failed", error });
    else if (!this.#resources.prepare()) return false;
    return true;
  }

  /** Called when the run is suspended, ends or leaves this worker. */
  releaseResources(): void {
    this.#resources?.releaseAll();
  }

  finish(ending: Ending): void {
    if (this.#hasEnded) return;
    this.#ending = ending;
    this.#wasLiveAtEnd = this.live;
    this.#owner.wake();
  }

  snapshot(state: unknown): void {
    if (!this.live || this.#hasEnded) return;
    const { open, pending, codec, limits, edition, redirectedAt } = this.#state;
    const retries = openRetries(open.byLocation.values());
    const position = { seq: this.#deliveredSeq, at: this.#now, edition, redirectedAt };
    const warned = limits === null ? {} : { warned: limits.warned };
    pending.document(writeSnapshot(codec, this.runId, { ...position, state, retries, ...warned }));
  }

  /** Requests a cancel. Returns false if no step is running and there is nothing to compensate. */
  cancel(cancel: Pick<InboxEntry, "n" | "value">): boolean {
    const { pending, completions, steps } = this.#state;
    if (pending.undoState === "none" && !completions.hasBuffered && !steps.attempting) return false;
    this.#cancel = cancel;
    return true;
  }

  /**
   * Fails the program if its run has reached a limit, and records the warnings that are due. `idle`: no completion is left to deliver,
   * so a run without a running step is suspended.
   */
  checkLimits(phase: "working" | "idle"): boolean {
    if (!this.live) return false;
    const { open, steps, pending, progress, limits } = this.#state;
    if (!this.#isLimited) {
      open.limitAt = null;
      return false;
    }
    if (limits === null) return false;
    const isSuspended = phase === "idle" && !steps.busy && open.size > 0;
    const suspendedSince = isSuspended ? progress.at(pending).since : null;
    const { error, warnings, nextAt } = limits.check({
      now: this.#services.time.now(),
      suspendedSince,
      records: pending.count,
    });
    open.limitAt = error === null ? nextAt : null;
    if (error !== null) {
      this.#ending = { kind: "failed", error };
      this.#owner.wake();
      return true;
    }
    for (const warning of warnings) {
      limits.markGiven(warning);
      progress.withoutProgress(pending, () => pending.record(warningRecord(warning, pending.at)));
      pending.requestCommit();
    }
    return false;
  }

  /** Whether the limits of the run apply: not once its end is decided. */
  get #isLimited(): boolean {
    if (this.#compensation !== null || this.#cancel !== null) return false;
    return this.#ending === null || (this.#isFinishing && this.#ending.kind !== "failed");
  }

  /** Replays the next record if it is a plain successful step, as most are. Returns false if `step` must decide. */
  replayStep(): boolean {
    if (this.live || this.#hasEnded || this.#resources !== null) return false;
    const next = replayStep(this.#cursor, this.#state);
    if (next === null) return false;
    this.#deliver(next);
    return true;
  }

  /** Delivers one completion to the idle program, if there is one. */
  step(): DriveResult {
    const error = this.#compensation?.nextCommand() ?? null;
    if (error !== null) return { kind: "diverged", error };
    if (!this.#cursor.done) return this.#replay();
    if (!this.live) {
      this.#updateSeed();
      this.#cursor = JOURNAL_END;
      this.#fresh = [...this.#state.open.byLocation.values()];
      for (const command of this.#fresh) createDocuments(this.#state.pending, command);
    }
    this.checkLimits("working");
    if (this.#fresh !== null) this.#execute(this.#fresh);
    const end = this.#end();
    if (end !== null) return end;
    const next = takeNextCompletion(this.#state);
    return next === null ? IDLE : this.#deliver(next);
  }

  /** Of the commands that an ended program left behind, its posts take effect, and its steps unless it failed. A broken program issues them again. */
  #execute(fresh: readonly Command[]): void {
    this.#fresh = null;
    if (this.#broken !== null) return;
    const isOpen = this.#compensation !== null || (this.#ending === null && this.#cancel === null);
    const isReturned = this.#cancel === null && this.#ending?.kind !== "failed";
    const takesEffect = ({ kind }: Command): boolean => isOpen || kind === "post" || (kind === "step" && isReturned);
    executeCommands(this.#state, fresh.filter(takesEffect), this.#services.time.now);
  }

  /** Returns the end of the program, of its cancellation or of its compensation. Null if it continues. */
  #end(): DriveResult | null {
    if (this.#compensation !== null) {
      const { ending } = this.#compensation;
      return ending === null ? null : { kind: "ended", ending };
    }
    if (this.#ending === null && this.#cancel === null) return null;
    const requested = this.#ending?.kind === "broken" ? null : this.#ending;
    // A cancel goes first: it needs no more code than the rollbacks.
    if (this.#broken !== null && this.#cancel === null) return this.#broken;
    takeRemaining(this.#state);
    const isReturned = this.#cancel === null && requested?.kind !== "failed";
    if (isReturned && this.#finishSteps()) return IDLE;
    if (!isReturned && this.#state.steps.attempting && !this.#isGraceOver) return this.#stopSteps();
    const ending = requested?.kind !== "failed" && this.#cancel !== null ? null : requested;
    const end = endOrCompensate(this.#state, this.runId, ending, this.#cancel);
    return end?.kind === "stop" ? this.#stop(end.stop, true) : end;
  }

  /** Drops what a program left open when it returned, except its steps. Returns true if one has not ended. */
  #finishSteps(): boolean {
    const { open } = this.#state;
    if (this.#isFinishing) return open.size > 0;
    this.#isFinishing = true;
    this.#closeUnless(({ kind }) => kind === "step");
    if (open.size === 0) return false;
    // A replay has logged it before.
    if (this.#wasLiveAtEnd) this.#logOpenSteps();
    return true;
  }

  /** Closes everything but the running steps, which have the grace to end. Their results are recorded. */
  #stopSteps(): DriveResult {
    if (this.#isStopping) return IDLE;
    this.#isStopping = true;
    const { steps } = this.#state;
    this.#closeUnless((command) => steps.runs(command));
    return STOPPING;
  }

  #closeUnless(keep: (command: Command) => boolean): void {
    const { open, children } = this.#state;
    if (this.#snapshot !== null) children.addAwaited(open.byLocation.values());
    open.closeUnless(keep);
  }

  #logOpenSteps(): void {
    const steps = [...this.#state.open.byLocation.values()].map(({ location }) => location);
    this.#services.log("warn", "workflow returned before these steps ended; await them; the run ends after them", {
      run: this.runId,
      workflow: this.run.workflow,
      locations: steps.slice(0, LOGGED_MAX).join(", "),
      steps: steps.length,
    });
  }

  /** Stops the program and starts its compensation. `isFresh`: the stop is not in the journal yet. */
  #stop(stop: Stop, isFresh: boolean): DriveResult {
    const { pending, open, completions, children, undo } = this.#state;
    undo.stopped();
    if (this.#snapshot !== null) children.addAwaited(open.byLocation.values());
    open.closeAll();
    this.#fresh = null;
    if (isFresh) {
      pending.post({ kind: "closeChildren", of: this.runId, reason: null, at: pending.at });
      completions.addStop(stop);
    }
    const issue = (command: Command): void => {
      open.add(command);
      if (this.live) this.#add(command);
    };
    this.#compensation = new Compensation({ host: this, state: this.#state, issue, services: this.#services }, stop);
    return { kind: "stopped", isFresh };
  }

  #add(fresh: Command): void {
    if (this.#fresh === null) this.#fresh = [fresh];
    else this.#fresh.push(fresh);
  }

  get #broken(): BrokenProgram | null {
    return this.#compensation === null && this.#ending?.kind === "broken" ? this.#ending : null;
  }

  get #hasEnded(): boolean {
    return this.#ending !== null || this.#compensation !== null;
  }

  /** Delivers the next record, which the program must have requested. */
  #replay(): DriveResult {
    const hasEnded = this.#compensation === null ? this.#ending !== null : this.#compensation.ending !== null;
    const next = replayNext(this.runId, this.#cursor, this.#state, hasEnded);
    if (next === null) return this.step();
    if (next.kind === "stop") return this.#stop(next.stop, false);
    // The rest of the journal is of code without the mistake.
    if (next.kind === "diverged") return this.#broken ?? next;
    return this.#deliver(next);
  }

  #deliver({ command, completion, seq, at }: Completed): DriveResult {
    this.#state.open.close(command);
    this.#now = at;
    this.#deliveredSeq = seq;
    if (!this.#cursor.done) this.#skipOperatorRecords();
    if (completion.outcome === "failed") this.#fail(command, completion);
    else command.settle(completion);
    return DELIVERED;
  }

  /** Watched, so that an unhandled failure is attributed to the run. A separate method, so that only a failure allocates a closure. */
  #fail(command: Command, completion: Completion): void {
    this.#services.rejections.watched(this.runId, () => command.settle(completion));
  }

  /** A fork has its own random values after the copied records. */
  #updateSeed(): void {
    const fork = this.#cursor.takeFork();
    if (fork !== null) this.#seed = seedAfterFork(this.#state.codec, fork) ?? this.#seed;
  }

  /** The program's time includes the operator records that follow the delivered one. */
  #skipOperatorRecords(): void {
    if (this.#cursor.next?.kind !== "operator") return;
    const { seq, at } = skipOperatorRecords(this.#cursor, { seq: this.#deliveredSeq, at: this.#now });
    this.#deliveredSeq = seq;
    this.#now = at;
  }
}

interface ProgramDriverParts {
  readonly owner: DriverOwner;
  readonly state: SessionState;
  readonly services: SessionServices;
  readonly run: RunFacts;
}

/**
 * - `delivered`: the program received a completion.
 * - `ended`: the program or its compensation has ended.
 * - `stopping`: the run has failed or is cancelled. The running steps must be asked to end.
 * - `stopped`: the program is compensated from here on. `isFresh`: that is not in the journal yet.
 * - `diverged`: the program requested something that its journal does not have.
 * - `broken`: the program has a mistake. It is returned again for as long as the program is driven.
 * - `idle`: there is nothing to deliver.
 */
type DriveResult =
  | { readonly kind: "delivered" }
  | { readonly kind: "ended"; readonly ending: FinalEnding | Compensated }
  | { readonly kind: "stopping" }
  | { readonly kind: "stopped"; readonly isFresh: boolean }
  | Diverged
  | BrokenProgram
  | { readonly kind: "idle" };

/** The number of steps that a log line names. */
const LOGGED_MAX = 10;

const DELIVERED: DriveResult = { kind: "delivered" };
const IDLE: DriveResult = { kind: "idle" };
const STOPPING: DriveResult = { kind: "stopping" };

/** Takes the next completion. Completions of a branch that has lost its race meanwhile are dropped. */
function takeNextCompletion(state: SessionState): Completed | null {
  const { completions, open, undo } = state;
  let next = completions.take();
  for (; next !== null; next = completions.take()) {
    undo.add(next);
    if (next.command.record === "child" || next.command.record === "select") clearUndo(state);
    if (open.holds(next.command)) break;
  }
  return next;
}

/** Once the last attached child has ended and nothing can be rolled back, a cancel ends the run at once again. */
function clearUndo({ undo, children, completions, pending, isWhole }: SessionState): void {
  const isEmpty = undo.size === 0 && children.size === 0 && completions.size === 0 && !completions.hasBuffered;
  if (isWhole && isEmpty && pending.undoState === "some") pending.undo("none");
}

/** Takes the completions that an ended program does not receive. Their steps have happened and may need a rollback. */
function takeRemaining({ completions, undo, open }: SessionState): void {
  for (let next = completions.take(); next !== null; next = completions.take()) {
    undo.add(next);
    open.close(next.command);
  }
}

/** Decides how an ended or cancelled program ends: at once, or stopped and compensated. Null if it continues. */
function endOrCompensate(
  { undo, children, codec, pending }: SessionState,
  runId: string,
  requested: FinalEnding | null,
  cancel: Pick<InboxEntry, "n" | "value"> | null,
): Extract<DriveResult, { kind: "ended" }> | { readonly kind: "stop"; readonly stop: Stop } | null {
  if (requested === null) {
    if (cancel === null) return null;
    pending.consumeEntry(cancel.n);
    const stop: Stop = { end: "cancelled", reason: cancel.value };
    if (pending.undoState === "none") return { kind: "ended", ending: { kind: "compensated", ...stop, failures: [] } };
    return { kind: "stop", stop };
  }
  const isEmpty = undo.size === 0 && children.size === 0;
  const ending = isEmpty ? requested : storableEnding(codec, runId, requested);
  if (ending.kind !== "failed" || isEmpty) return { kind: "ended", ending };
  const reason = failurePayload(codec, ending.error, `failure of run ${runId}`);
  return { kind: "stop", stop: { end: "failed", reason } };
}

/** Commits the documents of a command that takes effect. */
function createDocuments(pending: PendingAppend, command: Command): void {
  if (command.kind !== "wait" || command.documents === undefined) return;
  for (const create of command.documents) pending.document({ create });
  pending.requestCommit();
}

/** Executes new commands: posts and marks complete, waits open, steps start or wait for their retry time. */
function executeCommands(state: SessionState, fresh: readonly Command[], now: () => number): void {
  const { open, completions, steps, pending, codec, undo } = state;
  for (const command of fresh) {
    if (!open.holds(command)) continue;
    if (command.kind === "mark") {
      mark(state, command);
    } else if (command.kind === "post") {
      const end = endWith(codec, command, "result");
      if (end.outcome === "ok") pending.post(withCreatedAt(command.post, pending.at));
      completions.add(command, end);
    } else if (command.kind === "wait") {
      open.wait(command);
    } else {
      command.prepare?.();
      if (recordsStart(command) && !undo.hasStarted(command.location)) completions.addStart(command);
      if (command.retryAt > 0 && command.retryAt > now()) open.retry(command);
      else steps.schedule(command, completions.mustBeDurableSeq);
    }
  }
}

/** Whether the step is rolled back even if its body did not complete. A transaction that did not complete has no effect. */
function recordsStart({ rollback, transact }: StepCommand): boolean {
  return rollback?.unfinished === true && transact === undefined;
}

/** A child's age counts from its real start. The program's time can be older: a fork continues from an old journal. */
function withCreatedAt(post: Post, at: number): Post {
  return post.kind === "start" ? { ...post, run: { ...post.run, createdAt: at } } : post;
}

function mark({ completions, pending, loopRecords, codec }: SessionState, command: MarkCommand): void {
  const { trim } = command;
  const end = endWith(codec, command, "value");
  if (trim !== null && end.outcome === "ok") pending.trim(loopRecords.drop(trim.loop, trim.below));
  completions.add(command, end);
}

/** The end of a command that completes with its own value. It fails if the value cannot be stored: programs may pass anything. */
function endWith(codec: Codec, { value: own, location, detail }: MarkCommand | PostCommand, what: string): CommandEnd {
  try {
    const { payload, value } = codec.roundTrip(own, `${what} of ${location}`);
    return { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail };
  } catch (thrown) {
    const payload = failurePayload(codec, thrown, `failure of ${location}`);
    const error = toError(codec.decode(payload) as Failure);
    return { outcome: "failed", payload, completion: { outcome: "failed", error, detail: null }, detail: null };
  }
}

/** Records the end of one attempt: the step's completion, or a retry. */
export function recordAttempt({ open, completions }: SessionState, attempt: StepAttempt, result: AttemptResult): void {
  const { step } = attempt;
  if (result.kind === "completed") {
    completions.add(step, result, attempt);
    return;
  }
  step.attempts = attempt.attempt;
  step.retryAt = result.retryAt;
  open.retry(step);
  completions.addRetry(step, result.payload, attempt);
}
