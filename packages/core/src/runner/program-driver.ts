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
  readonly #desk: SessionState;
  readonly #world: SessionServices;
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
  #undoing: Compensation | null = null;
  #deliveredSeq: number;
  #now: number;

  constructor(parts: ProgramDriverParts, loaded: Loaded, snapshot: Snapshot | null, createProgram: ProgramFactory) {
    this.#owner = parts.owner;
    this.#desk = parts.desk;
    this.#world = parts.world;
    this.run = parts.run;
    this.runId = parts.run.id;
    this.#snapshot = snapshot;
    const origin = originOf(parts.desk.codec, parts.run, loaded.records);
    this.#seed = origin.seed;
    this.#cursor = new JournalCursor(loaded.records);
    this.#deliveredSeq = snapshot?.seq ?? parts.run.baseSeq;
    this.#now = snapshot?.at ?? origin.at;
    this.#passActs();
    if (this.#cursor.done) this.#cursor = JOURNAL_END;
    this.#createProgram = createProgram;
  }

  get edition(): number {
    return this.#desk.edition;
  }

  get seed(): string {
    return this.#seed ?? seedOf({ run: this.runId, generation: this.run.generation });
  }

  /** How many records it has still to be fed. */
  get recordsLeft(): number {
    return this.#cursor.left;
  }

  /** Whether the program is stopped, and what it did is undone. */
  get undoes(): boolean {
    return this.#undoing !== null;
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
    this.#createProgram(this).start(this.#desk.codec.decode(input), this.#snapshot);
    // Of it nothing but the tries of steps is asked for later.
    if (this.#snapshot !== null) this.#snapshot = { ...this.#snapshot, state: null };
  }

  get ahead(): JournalAhead {
    return this.#cursor;
  }

  encode(value: unknown, what: string): Payload {
    return this.#desk.codec.encode(value, what);
  }

  close(path: string, reason: Error): void {
    if (this.#undoing === null)
      cancelCommandsUnder(this.#desk, path, reason, this.live ? null : this.#cursor.passedOver);
  }

  passOver(location: string, kind: RecordKind): void {
    if (!this.live) this.#cursor.passedOver.remove(location, kind);
  }

  loopBegins(loop: string): ResumePoint | null {
    return resumeLoop(this.#desk.trail, this.#cursor, loop);
  }

  loopEnds(loop: string): void {
    this.#desk.trail.close(loop);
  }

  keptFrom(loop: string): number {
    return this.#desk.undo.keptFrom(loop);
  }

  issue(command: Command): void {
    if (this.#isOver) return;
    this.#desk.open.add(command);
    if (command.kind === "step" && this.#snapshot !== null)
      Object.assign(command, this.#snapshot.retries[command.location]);
    if (this.live) {
      this.#add(command);
      createDocuments(this.#desk.draft, command);
    }
    this.#owner.wake();
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    if (this.#isOver) return;
    markDocument(this.#desk.draft, { mark: { kind, id, attributes } }, this.live);
  }

  hold(request: ResourceRequest): void {
    if (this.#isOver) return;
    this.#resources ??= new Resources(this.#world, this.run, () => this.#owner.wake());
    this.#resources.add(request);
  }

  /** Whether the program is to be moved on now. One that lacks a resource for good fails where its journal ends. */
  get isEquipped(): boolean {
    if (this.#resources === null) return true;
    if (!this.#resources.look()) return false;
    const { failure: error } = this.#resources;
    if (error !== null && this.#cursor.done) this.finish({ kind: "failed", error });
    return true;
  }

  /** The run is not worked on any more, or not for now: it holds no resource. */
  letGo(): void {
    this.#resources?.letGo();
  }

  finish(ending: Ending): void {
    if (this.#isOver) return;
    this.#ending = ending;
    this.#owner.wake();
  }

  snapshot(state: unknown): void {
    if (!this.live || this.#isOver) return;
    keepSnapshot(this.#desk, this.runId, { seq: this.#deliveredSeq, at: this.#now, edition: this.edition, state });
  }

  /** Stops the program, if there is or may be something to undo: false, if there is not. One that is stopped already is not stopped again. */
  cancel(cancel: Pick<InboxEntry, "n" | "value">): boolean {
    if (this.#desk.draft.undoRow === "none" && !this.#desk.completions.keepsBack) return false;
    this.#cancel = cancel;
    return true;
  }

  /** Ends the program, as a failure of its own does, if its run has reached a limit; false: it goes on. `idle`: nothing is left to hand to it. */
  look(phase: "working" | "idle"): boolean {
    if (!this.live) return false;
    const isOver = this.#isOver || this.#cancel !== null;
    const error = checkLimits(this.#desk, this.#world.now, isOver ? "over" : phase);
    if (error !== null) this.finish({ kind: "failed", error });
    return error !== null;
  }

  /** Hands the next record to the program, if it is of a step that went well, as most are; false: `move` is to look. */
  feed(): boolean {
    if (this.live || this.#isOver || this.#resources !== null) return false;
    const next = replayStep(this.#cursor, this.#desk);
    if (next === null) return false;
    this.#hand(next);
    return true;
  }

  /** Moves the program on by one completion, if there is one. The program is at rest. */
  move(): DriveResult {
    const error = this.#undoing?.ask() ?? null;
    if (error !== null) return { kind: "diverged", error };
    if (!this.#cursor.done) return this.#replay();
    if (!this.live) {
      this.#cursor = JOURNAL_END;
      this.#fresh = [...this.#desk.open.byLocation.values()];
      for (const command of this.#fresh) createDocuments(this.#desk.draft, command);
    }
    this.look("working");
    if (this.#fresh !== null) this.#admit(this.#fresh);
    const end = this.#end();
    if (end !== null) return end;
    const next = takeNextCompletion(this.#desk);
    return next === null ? IDLE : this.#hand(next);
  }

  /** At its end a program has its last posts made; nobody waits for a step or a message any more. */
  #admit(fresh: readonly Command[]): void {
    this.#fresh = null;
    const isEnding = this.#ending !== null && this.#undoing === null;
    const asked = isEnding ? fresh.filter((command) => command.kind === "post") : fresh;
    executeCommands(this.#desk, asked, this.#world.now);
  }

  /** The program has ended or is to be cancelled, or all is undone; null: it goes on. */
  #end(): DriveResult | null {
    if (this.#undoing !== null) {
      const { undone } = this.#undoing;
      return undone === null ? null : { kind: "ended", ending: undone };
    }
    if (this.#ending === null && this.#cancel === null) return null;
    takeAll(this.#desk);
    const end = endOrCompensate(this.#desk, this.runId, this.#ending, this.#cancel);
    return end?.kind === "stop" ? this.#stop(end.stop, true) : end;
  }

  /** The program gets nothing any more, and what it did is undone. */
  #stop(stop: Stop, isFresh: boolean): DriveResult {
    const { draft, open, completions } = this.#desk;
    open.closeAll();
    this.#fresh = null;
    if (isFresh) {
      draft.post({ kind: "closeChildren", of: this.runId, reason: null, at: draft.at });
      completions.addStop(stop);
    }
    const issue = (command: Command): void => {
      open.add(command);
      if (this.live) this.#add(command);
    };
    const { undoChild } = this.#world;
    this.#undoing = new Compensation({ host: this, desk: this.#desk, issue, undoChild }, stop);
    return { kind: "stopped", isFresh };
  }

  #add(fresh: Command): void {
    if (this.#fresh === null) this.#fresh = [fresh];
    else this.#fresh.push(fresh);
  }

  get #isOver(): boolean {
    return this.#ending !== null || this.#undoing !== null;
  }

  /** Feeds the next record to the program, which must have asked for it. */
  #replay(): DriveResult {
    const over = this.#undoing === null ? this.#ending !== null : this.#undoing.undone !== null;
    const next = replayNext(this.runId, this.#cursor, this.#desk, over);
    if (next === null) return this.move();
    if (next.kind === "stop") return this.#stop(next.stop, false);
    return next.kind === "diverged" ? next : this.#hand(next);
  }

  #hand({ command, completion, seq, at }: Completed): DriveResult {
    this.#desk.open.close(command);
    this.#now = at;
    this.#deliveredSeq = seq;
    if (!this.#cursor.done) this.#passActs();
    deliverCompletion(this.#world, this.runId, command, completion);
    return HANDED;
  }

  /** What the program asks for next, it asks for after the acts that follow what it was handed. */
  #passActs(): void {
    if (this.#cursor.next?.kind !== "operator") return;
    const { seq, at } = skipOperatorRecords(this.#cursor, { seq: this.#deliveredSeq, at: this.#now });
    this.#deliveredSeq = seq;
    this.#now = at;
  }
}

export interface ProgramDriverParts {
  readonly owner: DriverOwner;
  readonly desk: SessionState;
  readonly world: SessionServices;
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
  world: SessionServices,
  runId: string,
  command: Command,
  completion: Completion,
): void {
  if (completion.outcome === "failed") failIn(world, runId, command, completion);
  else command.settle(completion);
}

/** Apart, so that only a failure needs a scope of its own. */
function failIn(world: SessionServices, runId: string, command: Command, completion: Completion): void {
  world.within(runId, () => command.settle(completion));
}

/** The next completion. What was recorded for a branch that has lost its race since then is dropped. */
export function takeNextCompletion({ completions, open, undo }: SessionState): Completed | null {
  let next = completions.take();
  for (; next !== null; next = completions.take()) {
    undo.note(next);
    if (open.holds(next.command)) break;
  }
  return next;
}

/** The program hears of nothing any more; what is recorded has happened all the same. */
export function takeAll({ completions, undo }: SessionState): void {
  for (let next = completions.take(); next !== null; next = completions.take()) undo.note(next);
}

/** What becomes of a program that has come to its end, or is to be cancelled: it ends, or is stopped and what it did is undone. */
export function endOrCompensate(
  { undo, codec, draft }: SessionState,
  runId: string,
  asked: Ending | null,
  cancel: Pick<InboxEntry, "n" | "value"> | null,
): Extract<DriveResult, { kind: "ended" }> | { readonly kind: "stop"; readonly stop: Stop } | null {
  if (asked === null) {
    if (cancel === null) return null;
    draft.take(cancel.n);
    return { kind: "stop", stop: { end: "cancelled", reason: cancel.value } };
  }
  const ending = undo.size === 0 ? asked : keepable(codec, runId, asked);
  if (ending.kind !== "failed" || undo.size === 0) return { kind: "ended", ending };
  const reason = failurePayload(codec, ending.error, `failure of run ${runId}`);
  return { kind: "stop", stop: { end: "failed", reason } };
}

/** Ends the command at a path, or else everything under it. In a replay, which has a `passedOver`, what the journal still holds of it is passed over. */
export function cancelCommandsUnder(
  desk: SessionState,
  path: string,
  reason: Error,
  passedOver: SkippedRecords | null,
): void {
  const { open, steps, trail, undo } = desk;
  trail.closeUnder(path);
  const closed = open.closeUnder(path);
  if (closed.length === 0) return;
  steps.drop(new Set(closed), reason);
  if (passedOver === null) return;
  for (const { location } of closed) passedOver.close(location);
  undo.closed(closed);
}

/** A loop begins where its journal says that it had come to; the rounds before that are passed over. */
export function resumeLoop(trail: LoopRecords, cursor: JournalCursor, loop: string): ResumePoint | null {
  const point = cursor.resumePoint(loop);
  trail.open(loop);
  if (point?.kind === "round") cursor.passedOver.begin(loop, point.round);
  if (point?.kind === "over") cursor.passedOver.begin(loop, Number.POSITIVE_INFINITY);
  return point;
}

/** A command takes effect: the documents that it comes with are written with it. */
export function createDocuments(draft: PendingAppend, command: Command): void {
  if (command.kind !== "wait" || command.documents === undefined) return;
  for (const create of command.documents) draft.document({ create });
  draft.announce();
}

/** In a replay it waits for whatever is written next: most often it was written before. */
export function markDocument(draft: PendingAppend, change: DocumentChange, isLive: boolean): void {
  draft.document(change);
  if (isLive) draft.announce();
}

/** Fresh commands take effect: posts complete, waits open, steps start or go on backing off. Only those that do ask for the time. */
export function executeCommands(desk: SessionState, fresh: readonly Command[], now: () => number): void {
  const { open, completions, steps, draft, codec } = desk;
  for (const command of fresh) {
    if (!open.holds(command)) continue;
    if (command.kind === "mark") {
      mark(desk, command);
    } else if (command.kind === "post") {
      const { detail } = command;
      const { payload, value } = codec.roundTrip(command.value, `result of ${command.location}`);
      draft.post(madeAt(command.post, draft.at));
      completions.add(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail });
    } else if (command.kind === "wait") {
      open.wait(command);
    } else if (command.retryAt > 0 && command.retryAt > now()) {
      open.retry(command);
    } else {
      steps.hold(command, completions.firmSeq);
    }
  }
}

/** A child is as old as it is, whatever time its program takes it to be: a fork goes on from an old history. */
function madeAt(post: Post, at: number): Post {
  return post.kind === "start" ? { ...post, run: { ...post.run, createdAt: at } } : post;
}

function mark({ completions, draft, trail, codec }: SessionState, command: MarkCommand): void {
  const { detail, trim } = command;
  const { payload, value } = codec.roundTrip(command.value, `value of ${command.location}`);
  if (trim !== null) draft.trim(trail.drop(trim.loop, trim.below));
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
