import type { InboxEntry } from "../model/inbox.ts";
import { type RecordKind, type Stop, stopOf } from "../model/record.ts";
import type { Payload, Run } from "../model/run.ts";
import type { DocumentAttributes } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";
import type { Command } from "../workflow/command.ts";
import type { Ending, JournalAhead, Program, ProgramFactory, ProgramHost, ResumePoint } from "../workflow/program.ts";
import type { ResourceRequest } from "../workflow/resource.ts";
import { editionOf, originOf, passActs } from "./acts.ts";
import { admit } from "./admit.ts";
import { closeUnder } from "./close-under.ts";
import { Compensation } from "./compensation.ts";
import type { Completed } from "./completions.ts";
import type { Desk } from "./desk.ts";
import { keepable } from "./ending.ts";
import { failurePayload } from "./failure-payload.ts";
import { JournalCursor } from "./journal-cursor.ts";
import { lookAtLimits } from "./look-at-limits.ts";
import { HANDED, IDLE, type Move } from "./move.ts";
import { createDocuments, markDocument } from "./program-documents.ts";
import { type Replayed, replayNext } from "./replay-next.ts";
import { Resources } from "./resources.ts";
import { resumeLoop } from "./resume-loop.ts";
import type { SessionWorld } from "./session-world.ts";
import { keepSnapshot, type Snapshot } from "./snapshot.ts";
import { takeAll, takeOpen } from "./take-open.ts";

export interface CourseParts {
  readonly desk: Desk;
  readonly world: SessionWorld;
  readonly signal: () => AbortSignal;
  /** The program has asked for something, or ended. */
  readonly onAsked: () => void;
}

/**
 * A program on its way: what it asks for, what it has been handed, how far in its journal it is.
 *
 * R1. Completions reach the program in the order of their seq, one at a time: in replay as it was live.
 * R3. The presence of a record decides replay, never its value.
 * R6. A program that is stopped gets nothing any more: from there on what it did is undone, in replay as it was live.
 */
export class Course implements ProgramHost {
  readonly run: Run;
  readonly edition: number;
  readonly seed: string;
  readonly #parts: CourseParts;
  readonly #program: Program;
  readonly #cursor: JournalCursor;
  readonly #replayed: Replayed;
  readonly resources: Resources;
  readonly #snapshot: Snapshot | null;
  /** Issued since the last move; nothing is fresh while records are replayed, and all is live when none are left. */
  #fresh: Command[] = [];
  #live: boolean;
  #ending: Ending | null = null;
  /** The run is to be cancelled when its program has come to where the journal ends; until then the cancel stays in its inbox. */
  #cancel: Pick<InboxEntry, "n" | "value"> | null = null;
  #undoing: Compensation | null = null;
  #deliveredSeq: number;
  #now: number;

  constructor(parts: CourseParts, { run, records }: Loaded, snapshot: Snapshot | null, createProgram: ProgramFactory) {
    this.#parts = parts;
    this.run = run;
    this.#snapshot = snapshot;
    const origin = originOf(parts.desk.codec, run, records);
    this.seed = origin.seed;
    this.edition = editionOf(records, snapshot);
    this.#cursor = new JournalCursor(records);
    this.#deliveredSeq = snapshot?.seq ?? run.baseSeq;
    this.#now = snapshot?.at ?? origin.at;
    this.#passActs();
    this.#replayed = { runId: run.id, cursor: this.#cursor, desk: parts.desk };
    this.#live = this.#cursor.done;
    this.resources = new Resources(parts.world, run, parts.onAsked);
    this.#program = createProgram(this);
  }

  get runId(): string {
    return this.run.id;
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
    return this.#live;
  }

  get signal(): AbortSignal {
    return this.#parts.signal();
  }

  now(): number {
    return this.#now;
  }

  start(): void {
    this.#program.start(this.#parts.desk.codec.decode(this.run.input), this.#snapshot);
  }

  get ahead(): JournalAhead {
    return this.#cursor;
  }

  encode(value: unknown, what: string): Payload {
    return this.#parts.desk.codec.encode(value, what);
  }

  close(path: string, reason: Error): void {
    if (this.#undoing === null) closeUnder(this.#parts.desk, path, reason, this.#live);
  }

  passOver(location: string, kind: RecordKind): void {
    if (!this.#live) this.#parts.desk.passedOver.remove(location, kind);
  }

  loopBegins(loop: string): ResumePoint | null {
    return resumeLoop(this.#parts.desk, this.#cursor, loop);
  }

  loopEnds(loop: string): void {
    this.#parts.desk.trail.close(loop);
  }

  keptFrom(loop: string): number {
    return this.#parts.desk.undo.keptFrom(loop);
  }

  issue(command: Command): void {
    if (this.#isOver) return;
    this.#parts.desk.open.add(command);
    if (command.kind === "step" && this.#snapshot !== null)
      Object.assign(command, this.#snapshot.retries[command.location]);
    if (this.#live) {
      this.#fresh.push(command);
      createDocuments(this.#parts.desk.draft, command);
    }
    this.#parts.onAsked();
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    if (this.#isOver) return;
    markDocument(this.#parts.desk.draft, { mark: { kind, id, attributes } }, this.#live);
  }

  hold(request: ResourceRequest): void {
    if (!this.#isOver) this.resources.add(request);
  }

  /** Whether the program is to be moved on now. One that lacks a resource for good fails where its journal ends. */
  get isEquipped(): boolean {
    if (!this.resources.look()) return false;
    const { failure: error } = this.resources;
    if (error !== null && this.#cursor.done) this.finish({ kind: "failed", error });
    return true;
  }

  finish(ending: Ending): void {
    if (this.#isOver) return;
    this.#ending = ending;
    this.#parts.onAsked();
  }

  snapshot(state: unknown): void {
    if (!this.#live || this.#isOver) return;
    const place = { seq: this.#deliveredSeq, at: this.#now, edition: this.edition };
    keepSnapshot(this.#parts.desk, this.runId, { ...place, state });
  }

  /** Stops the program, if there is or may be something to undo: false, if there is not. One that is stopped already is not stopped again. */
  cancel(cancel: Pick<InboxEntry, "n" | "value">): boolean {
    if (this.#parts.desk.draft.undoRow === "none" && !this.#parts.desk.completions.keepsBack) return false;
    this.#cancel = cancel;
    return true;
  }

  /** Ends the program, as a failure of its own does, if its run has reached a limit; false: it goes on. `idle`: nothing is left to hand to it. */
  look(phase: "working" | "idle"): boolean {
    const { desk, world } = this.#parts;
    if (desk.limits === null || !this.#live) return false;
    if (this.#isOver || this.#cancel !== null) {
      desk.open.limitAt = null;
      return false;
    }
    const error = lookAtLimits(desk, desk.limits, world.now(), phase === "idle");
    if (error !== null) this.finish({ kind: "failed", error });
    return error !== null;
  }

  /** Moves the program on by one completion, if there is one. The program is at rest. */
  move(): Move {
    const error = this.#undoing?.ask() ?? null;
    if (error !== null) return { kind: "diverged", error };
    if (!this.#cursor.done) return this.#replay();
    if (!this.#live) {
      this.#live = true;
      this.#parts.desk.passedOver.clear();
      this.#fresh = [...this.#parts.desk.open.byLocation.values()];
      for (const command of this.#fresh) createDocuments(this.#parts.desk.draft, command);
    }
    this.look("working");
    if (this.#fresh.length > 0) this.#admit(this.#fresh.splice(0));
    const end = this.#end();
    if (end !== null) return end;
    const next = takeOpen(this.#parts.desk);
    return next === null ? IDLE : this.#hand(next);
  }

  /** At its end a program has its last posts made; nobody waits for a step or a message any more. */
  #admit(fresh: readonly Command[]): void {
    const isEnding = this.#ending !== null && this.#undoing === null;
    const asked = isEnding ? fresh.filter((command) => command.kind === "post") : fresh;
    admit(this.#parts.desk, asked, this.#parts.world.now());
  }

  /** The program has ended or is to be cancelled, or all is undone; null: it goes on. */
  #end(): Move | null {
    if (this.#undoing !== null) {
      const { undone } = this.#undoing;
      return undone === null ? null : { kind: "ended", ending: undone };
    }
    if (this.#ending === null && this.#cancel === null) return null;
    const { undo, codec, draft } = this.#parts.desk;
    takeAll(this.#parts.desk);
    if (this.#ending === null && this.#cancel !== null) {
      draft.take(this.#cancel.n);
      return this.#stop({ end: "cancelled", reason: this.#cancel.value }, true);
    }
    if (this.#ending === null) return null;
    const ending = undo.size === 0 ? this.#ending : keepable(codec, this.runId, this.#ending);
    if (ending.kind !== "failed" || undo.size === 0) return { kind: "ended", ending };
    const reason = failurePayload(codec, ending.error, `failure of run ${this.runId}`);
    return this.#stop({ end: "failed", reason }, true);
  }

  /** The program gets nothing any more, and what it did is undone. */
  #stop(stop: Stop, isFresh: boolean): Move {
    const { desk, world } = this.#parts;
    const { draft, open, completions } = desk;
    const { runId } = this;
    open.closeAll();
    this.#fresh = [];
    if (isFresh) {
      draft.post({ kind: "closeChildren", of: this.runId, reason: null, at: draft.at });
      completions.addStop(stop);
    }
    const issue = (command: Command): void => {
      open.add(command);
      if (this.#live) this.#fresh.push(command);
    };
    this.#undoing = new Compensation({ runId, desk, now: () => this.#now, issue, undoChild: world.undoChild }, stop);
    return { kind: "stopped", isFresh };
  }

  get #isOver(): boolean {
    return this.#ending !== null || this.#undoing !== null;
  }

  /** Feeds the next record to the program, which must have asked for it. */
  #replay(): Move {
    const over = this.#undoing === null ? this.#ending !== null : this.#undoing.undone !== null;
    const next = replayNext(this.#replayed, over);
    if (next === null) return this.move();
    if (next === "stop") return this.#stopAtRecord();
    return "error" in next ? next : this.#hand(next);
  }

  /** The journal holds that the program was stopped here, wherever the code would go on to. */
  #stopAtRecord(): Move {
    const record = this.#cursor.next;
    this.#cursor.advance();
    return this.#stop(stopOf(record), false);
  }

  #hand({ command, completion, seq, at }: Completed): Move {
    this.#parts.desk.open.close(command);
    this.#now = at;
    this.#deliveredSeq = seq;
    if (!this.#cursor.done) this.#passActs();
    command.settle(completion);
    return HANDED;
  }

  /** What the program asks for next, it asks for after the acts that follow what it was handed. */
  #passActs(): void {
    if (this.#cursor.next?.kind !== "operator") return;
    const { seq, at } = passActs(this.#cursor, { seq: this.#deliveredSeq, at: this.#now });
    this.#deliveredSeq = seq;
    this.#now = at;
  }
}
