import type { InboxEntry } from "../model/inbox.ts";
import type { RecordKind, Stop } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes, DocumentChange, Post } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";
import type { Command, Completion, MarkCommand } from "../workflow/command.ts";
import type { Ending, JournalAhead, ProgramFactory, ProgramHost, ResumePoint } from "../workflow/program.ts";
import type { ResourceRequest } from "../workflow/resource.ts";
import { checkLimits } from "./check-limits.ts";
import { Compensation, type Undone } from "./compensation.ts";
import type { Completed } from "./completions.ts";
import { failurePayload } from "./failure-payload.ts";
import { JOURNAL_END, JournalCursor, type SkippedRecords } from "./journal-cursor.ts";
import type { LoopRecords } from "./loop-records.ts";
import { originOf, seedOf, skipOperatorRecords } from "./operator-records.ts";
import type { PendingAppend } from "./pending-append.ts";
import { type Diverged, replayNext, replayStep } from "./replay.ts";
import { Resources } from "./resources.ts";
import { keepable } from "./run-end.ts";
import type { DriverOwner, SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { keepSnapshot, type Snapshot } from "./snapshot.ts";
import type { AttemptResult, StepAttempt } from "./step-attempt.ts";

/**
 * A program on its way: what it asks for, what it has been handed, how far in its journal it is.
 *
 * 1. Completions reach the program in the order of their seq, one at a time: in replay as it was live.
 * 2. The presence of a record decides replay, never its value.
 * 3. A program that is stopped gets nothing any more: from there on what it did is undone, in replay as it was live.
 */
export class ProgramDriver implements ProgramHost {
  readonly run: RunFacts;
  readonly runId: string;
  readonly #owner: DriverOwner;
  readonly #state: SessionState;
  readonly #services: SessionServices;
  readonly #createProgram: ProgramFactory;
  /** Of the run that the history was copied from; null: it is the run's own. */
  readonly #seed: string | null;
  /** The program is live once it stands at the end. */
  #cursor: JournalCursor;
  /** Made with the first that is asked for. */
  #resources: Resources | null = null;
  #snapshot: Snapshot | null;
  /** Issued since the last move; nothing is fresh while records are replayed. */
  #fresh: Command[] | null = null;
  #ending: Ending | null = null;
  /** The run is to be cancelled when its program has come to where the journal ends; until then the cancel stays in its inbox. */
  #cancel: Pick<InboxEntry, "n" | "value"> | null = null;
  #compensation: Compensation | null = null;
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
    this.#cursor = new JournalCursor(loaded.records);
    this.#deliveredSeq = snapshot?.seq ?? parts.run.baseSeq;
    this.#now = snapshot?.at ?? origin.at;
    this.#skipOperatorRecords();
    if (this.#cursor.done) this.#cursor = JOURNAL_END;
    this.#createProgram = createProgram;
  }

  get edition(): number {
    return this.#state.edition;
  }

  get seed(): string {
    return this.#seed ?? seedOf({ run: this.runId, generation: this.run.generation });
  }

  /** How many records it has still to be fed. */
  get recordsLeft(): number {
    return this.#cursor.left;
  }

  /** Whether the program is stopped, and what it did is undone. */
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
    this.#createProgram(this).start(this.#state.codec.decode(input), this.#snapshot);
    // Of it nothing but the tries of steps is asked for later.
    if (this.#snapshot !== null) this.#snapshot = { ...this.#snapshot, state: null };
  }

  get ahead(): JournalAhead {
    return this.#cursor;
  }

  encode(value: unknown, what: string): Payload {
    return this.#state.codec.encode(value, what);
  }

  cancelUnder(path: string, reason: Error): void {
    if (this.#compensation === null)
      cancelCommandsUnder(this.#state, path, reason, this.live ? null : this.#cursor.passedOver);
  }

  skip(location: string, kind: RecordKind): void {
    if (!this.live) this.#cursor.passedOver.remove(location, kind);
  }

  loopStarts(loop: string): ResumePoint | null {
    return resumeLoop(this.#state.loopRecords, this.#cursor, loop);
  }

  loopEnds(loop: string): void {
    this.#state.loopRecords.close(loop);
  }

  keptFrom(loop: string): number {
    return this.#state.undo.keptFrom(loop);
  }

  issue(command: Command): void {
    if (this.#hasEnded) return;
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
    markDocument(this.#state.pending, { mark: { kind, id, attributes } }, this.live);
  }

  acquire(request: ResourceRequest): void {
    if (this.#hasEnded) return;
    this.#resources ??= new Resources(this.#services, this.run, () => this.#owner.wake());
    this.#resources.add(request);
  }

  /** Whether the program is to be moved on now. One that lacks a resource for good fails where its journal ends. */
  get resourcesReady(): boolean {
    if (this.#resources === null) return true;
    if (!this.#resources.look()) return false;
    const { failure: error } = this.#resources;
    if (error !== null && this.#cursor.done) this.finish({ kind: "failed", error });
    return true;
  }

  /** The run is not worked on any more, or not for now: it holds no resource. */
  releaseResources(): void {
    this.#resources?.letGo();
  }

  finish(ending: Ending): void {
    if (this.#hasEnded) return;
    this.#ending = ending;
    this.#owner.wake();
  }

  snapshot(state: unknown): void {
    if (!this.live || this.#hasEnded) return;
    keepSnapshot(this.#state, this.runId, { seq: this.#deliveredSeq, at: this.#now, edition: this.edition, state });
  }

  /** Stops the program, if there is or may be something to undo: false, if there is not. One that is stopped already is not stopped again. */
  cancel(cancel: Pick<InboxEntry, "n" | "value">): boolean {
    if (this.#state.pending.undoState === "none" && !this.#state.completions.hasBuffered) return false;
    this.#cancel = cancel;
    return true;
  }

  /** Ends the program, as a failure of its own does, if its run has reached a limit; false: it goes on. `idle`: nothing is left to hand to it. */
  checkLimits(phase: "working" | "idle"): boolean {
    if (!this.live) return false;
    const isOver = this.#hasEnded || this.#cancel !== null;
    const error = checkLimits(this.#state, this.#services.time.now, isOver ? "over" : phase);
    if (error !== null) this.finish({ kind: "failed", error });
    return error !== null;
  }

  /** Hands the next record to the program, if it is of a step that went well, as most are; false: `move` is to look. */
  replayStep(): boolean {
    if (this.live || this.#hasEnded || this.#resources !== null) return false;
    const next = replayStep(this.#cursor, this.#state);
    if (next === null) return false;
    this.#deliver(next);
    return true;
  }

  /** Moves the program on by one completion, if there is one. The program is at rest. */
  step(): DriveResult {
    const error = this.#compensation?.nextCommand() ?? null;
    if (error !== null) return { kind: "diverged", error };
    if (!this.#cursor.done) return this.#replay();
    if (!this.live) {
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

  /** At its end a program has its last posts made; nobody waits for a step or a message any more. */
  #execute(fresh: readonly Command[]): void {
    this.#fresh = null;
    const isEnding = this.#ending !== null && this.#compensation === null;
    const asked = isEnding ? fresh.filter((command) => command.kind === "post") : fresh;
    executeCommands(this.#state, asked, this.#services.time.now);
  }

  /** The program has ended or is to be cancelled, or all is undone; null: it goes on. */
  #end(): DriveResult | null {
    if (this.#compensation !== null) {
      const { undone } = this.#compensation;
      return undone === null ? null : { kind: "ended", ending: undone };
    }
    if (this.#ending === null && this.#cancel === null) return null;
    takeAll(this.#state);
    const end = endOrCompensate(this.#state, this.runId, this.#ending, this.#cancel);
    return end?.kind === "stop" ? this.#stop(end.stop, true) : end;
  }

  /** The program gets nothing any more, and what it did is undone. */
  #stop(stop: Stop, isFresh: boolean): DriveResult {
    const { pending, open, completions } = this.#state;
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
    const { undoChild } = this.#services;
    this.#compensation = new Compensation({ host: this, state: this.#state, issue, undoChild }, stop);
    return { kind: "stopped", isFresh };
  }

  #add(fresh: Command): void {
    if (this.#fresh === null) this.#fresh = [fresh];
    else this.#fresh.push(fresh);
  }

  get #hasEnded(): boolean {
    return this.#ending !== null || this.#compensation !== null;
  }

  /** Feeds the next record to the program, which must have asked for it. */
  #replay(): DriveResult {
    const over = this.#compensation === null ? this.#ending !== null : this.#compensation.undone !== null;
    const next = replayNext(this.runId, this.#cursor, this.#state, over);
    if (next === null) return this.step();
    if (next.kind === "stop") return this.#stop(next.stop, false);
    return next.kind === "diverged" ? next : this.#deliver(next);
  }

  #deliver({ command, completion, seq, at }: Completed): DriveResult {
    this.#state.open.close(command);
    this.#now = at;
    this.#deliveredSeq = seq;
    if (!this.#cursor.done) this.#skipOperatorRecords();
    deliverCompletion(this.#services, this.runId, command, completion);
    return HANDED;
  }

  /** What the program asks for next, it asks for after the acts that follow what it was handed. */
  #skipOperatorRecords(): void {
    if (this.#cursor.next?.kind !== "operator") return;
    const { seq, at } = skipOperatorRecords(this.#cursor, { seq: this.#deliveredSeq, at: this.#now });
    this.#deliveredSeq = seq;
    this.#now = at;
  }
}

export interface ProgramDriverParts {
  readonly owner: DriverOwner;
  readonly state: SessionState;
  readonly services: SessionServices;
  readonly run: RunFacts;
}

/** What became of a move: something was handed to the program, it has ended, it asks for what its journal does not hold, or nothing is left to hand. */
export type DriveResult =
  | { readonly kind: "handed" }
  | { readonly kind: "ended"; readonly ending: Ending | Undone }
  /** The program is stopped, and what it did is undone from here on; `isFresh`: that is not in the journal yet. */
  | { readonly kind: "stopped"; readonly isFresh: boolean }
  | Diverged
  | { readonly kind: "idle" };

export const HANDED: DriveResult = { kind: "handed" };
export const IDLE: DriveResult = { kind: "idle" };

/** Gives a completion to the program. A failure is given in the name of the run: if nobody handles it, it is known whose it is. */
export function deliverCompletion(
  services: SessionServices,
  runId: string,
  command: Command,
  completion: Completion,
): void {
  if (completion.outcome === "failed") failIn(services, runId, command, completion);
  else command.settle(completion);
}

/** Apart, so that only a failure needs a scope of its own. */
function failIn(services: SessionServices, runId: string, command: Command, completion: Completion): void {
  services.rejections.watched(runId, () => command.settle(completion));
}

/** The next completion. What was recorded for a branch that has lost its race since then is dropped. */
export function takeNextCompletion({ completions, open, undo }: SessionState): Completed | null {
  let next = completions.take();
  for (; next !== null; next = completions.take()) {
    undo.add(next);
    if (open.holds(next.command)) break;
  }
  return next;
}

/** The program hears of nothing any more; what is recorded has happened all the same. */
export function takeAll({ completions, undo }: SessionState): void {
  for (let next = completions.take(); next !== null; next = completions.take()) undo.add(next);
}

/** What becomes of a program that has come to its end, or is to be cancelled: it ends, or is stopped and what it did is undone. */
export function endOrCompensate(
  { undo, codec, pending }: SessionState,
  runId: string,
  asked: Ending | null,
  cancel: Pick<InboxEntry, "n" | "value"> | null,
): Extract<DriveResult, { kind: "ended" }> | { readonly kind: "stop"; readonly stop: Stop } | null {
  if (asked === null) {
    if (cancel === null) return null;
    pending.consumeEntry(cancel.n);
    return { kind: "stop", stop: { end: "cancelled", reason: cancel.value } };
  }
  const ending = undo.size === 0 ? asked : keepable(codec, runId, asked);
  if (ending.kind !== "failed" || undo.size === 0) return { kind: "ended", ending };
  const reason = failurePayload(codec, ending.error, `failure of run ${runId}`);
  return { kind: "stop", stop: { end: "failed", reason } };
}

/** Ends the command at a path, or else everything under it. In a replay, which has a `passedOver`, what the journal still holds of it is passed over. */
export function cancelCommandsUnder(
  session: SessionState,
  path: string,
  reason: Error,
  passedOver: SkippedRecords | null,
): void {
  const { open, steps, loopRecords, undo } = session;
  loopRecords.closeUnder(path);
  const closed = open.closeUnder(path);
  if (closed.length === 0) return;
  steps.drop(new Set(closed), reason);
  if (passedOver === null) return;
  for (const { location } of closed) passedOver.close(location);
  undo.closed(closed);
}

/** A loop begins where its journal says that it had come to; the rounds before that are passed over. */
export function resumeLoop(loopRecords: LoopRecords, cursor: JournalCursor, loop: string): ResumePoint | null {
  const point = cursor.resumePoint(loop);
  loopRecords.open(loop);
  if (point?.kind === "round") cursor.passedOver.begin(loop, point.round);
  if (point?.kind === "over") cursor.passedOver.begin(loop, Number.POSITIVE_INFINITY);
  return point;
}

/** A command takes effect: the documents that it comes with are written with it. */
export function createDocuments(pending: PendingAppend, command: Command): void {
  if (command.kind !== "wait" || command.documents === undefined) return;
  for (const create of command.documents) pending.document({ create });
  pending.requestCommit();
}

/** In a replay it waits for whatever is written next: most often it was written before. */
export function markDocument(pending: PendingAppend, change: DocumentChange, isLive: boolean): void {
  pending.document(change);
  if (isLive) pending.requestCommit();
}

/** Fresh commands take effect: posts complete, waits open, steps start or go on backing off. Only those that do ask for the time. */
export function executeCommands(session: SessionState, fresh: readonly Command[], now: () => number): void {
  const { open, completions, steps, pending, codec } = session;
  for (const command of fresh) {
    if (!open.holds(command)) continue;
    if (command.kind === "mark") {
      mark(session, command);
    } else if (command.kind === "post") {
      const { detail } = command;
      const { payload, value } = codec.roundTrip(command.value, `result of ${command.location}`);
      pending.post(madeAt(command.post, pending.at));
      completions.add(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail });
    } else if (command.kind === "wait") {
      open.wait(command);
    } else if (command.retryAt > 0 && command.retryAt > now()) {
      open.retry(command);
    } else {
      steps.schedule(command, completions.mustBeDurableSeq);
    }
  }
}

/** A child is as old as it is, whatever time its program takes it to be: a fork goes on from an old history. */
function madeAt(post: Post, at: number): Post {
  return post.kind === "start" ? { ...post, run: { ...post.run, createdAt: at } } : post;
}

function mark({ completions, pending, loopRecords, codec }: SessionState, command: MarkCommand): void {
  const { detail, trim } = command;
  const { payload, value } = codec.roundTrip(command.value, `value of ${command.location}`);
  if (trim !== null) pending.trim(loopRecords.drop(trim.loop, trim.below));
  completions.add(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail });
}

/** One try of a step has ended: for good, or until the next. */
export function recordAttempt({ open, completions }: SessionState, body: StepAttempt, end: AttemptResult): void {
  const { step } = body;
  if (end.kind === "completed") {
    completions.add(step, end, body);
    return;
  }
  step.attempts = body.attempt;
  step.retryAt = end.retryAt;
  open.retry(step);
  completions.addRetry(step, end.payload, body);
}
