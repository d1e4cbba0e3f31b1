import { compensateRecord, type Outcome, type Stop, UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, Completion, StepCommand } from "../workflow/command.ts";
import type { PendingAppend } from "./pending-append.ts";
import type { SessionStateListener } from "./session-ports.ts";
import type { StepAttempt } from "./step-attempt.ts";

/** How a command ended, for its record and for the program. */
export interface CommandEnd {
  readonly outcome: Outcome;
  readonly payload: Payload;
  readonly completion: Completion;
  readonly detail: string | null;
  /** It can be undone, and not because it is a step with a rollback. */
  readonly undoable?: boolean;
}

/** A completion that is recorded and to be handed to the program. */
export interface Completed {
  readonly kind: "completed";
  readonly command: Command;
  readonly completion: Completion;
  readonly payload: Payload;
  readonly seq: number;
  readonly at: number;
}

/** Completions on their way from the world to the program: recorded first, handed over in the order of their seq. */
export class Completions {
  readonly #pending: PendingAppend;
  readonly #listener: Pick<SessionStateListener, "onAdded">;
  /** The next, and those after it: mostly there is one. */
  #next: Completed | null = null;
  #queue: Completed[] | null = null;
  /** What came while nothing may be recorded. */
  #buffered: Array<() => void> | null = null;
  #mustBeDurableSeq: number;
  #bytes = 0;

  constructor(pending: PendingAppend, listener: Pick<SessionStateListener, "onAdded">) {
    this.#pending = pending;
    this.#listener = listener;
    this.#mustBeDurableSeq = pending.seq;
  }

  get size(): number {
    return this.#next === null ? 0 : 1 + (this.#queue?.length ?? 0);
  }

  /** The newest record that step bodies have to wait for. */
  get mustBeDurableSeq(): number {
    return this.#mustBeDurableSeq;
  }

  /** What the program got in payloads. */
  get bytes(): number {
    return this.#bytes;
  }

  take(): Completed | null {
    const next = this.#next;
    this.#next = this.#queue?.shift() ?? null;
    return next;
  }

  /** A record of an earlier session was handed over. */
  replayed(payload: Payload): void {
    this.#bytes += payload?.length ?? 0;
  }

  /** Completions that come are not recorded until `letGo`. */
  buffer(): void {
    this.#buffered ??= [];
  }

  /** Whether something has come that is not recorded yet. */
  get hasBuffered(): boolean {
    return this.#buffered !== null && this.#buffered.length > 0;
  }

  flush(): void {
    const kept = this.#buffered ?? [];
    this.#buffered = null;
    for (const add of kept) add();
  }

  /** Completions whose records are durable already. */
  adopt(completed: readonly Completed[]): void {
    for (const each of completed) this.#enqueue(each);
    this.#mustBeDurableSeq = this.#pending.seq;
    this.#listener.onAdded();
  }

  add(command: Command, end: CommandEnd, body?: StepAttempt): void {
    if (this.#buffered !== null) {
      this.#addBuffered(command, end, body);
      return;
    }
    const { seq, at } = this.#pending.record({
      seq: 0,
      location: command.location,
      kind: command.record,
      outcome: end.outcome,
      payload: end.payload,
      attempts: body === undefined ? 0 : body.attempt,
      startedAt: body === undefined ? command.issuedAt : body.startedAt,
      at: 0,
      detail: end.detail,
    });
    this.#enqueue({ kind: "completed", command, completion: end.completion, payload: end.payload, seq, at });
    this.#bytes += end.payload?.length ?? 0;
    if (end.undoable === true || (end.detail === UNDOABLE && command.kind === "step")) this.#pending.undo("some");
    if (command.record === "checkpoint") this.#pending.undo("none");
    if (needsCommit(command)) this.#requireDurable(seq);
    this.#listener.onAdded();
  }

  /** Apart, so that only what is kept back needs a scope of its own. */
  #addBuffered(command: Command, end: CommandEnd, body?: StepAttempt): void {
    this.#buffered?.push(() => this.add(command, end, body));
  }

  /** A try of a step has failed, and the next is to come: that is recorded too, and completes nothing. */
  addRetry(step: StepCommand, payload: Payload, body: StepAttempt): void {
    if (this.#buffered !== null) {
      this.#buffered.push(() => this.addRetry(step, payload, body));
      return;
    }
    const { seq } = this.#pending.record({
      seq: 0,
      location: step.location,
      kind: "retry",
      outcome: "failed",
      payload,
      attempts: body.attempt,
      startedAt: body.startedAt,
      at: 0,
      detail: String(step.retryAt),
    });
    this.#requireDurable(seq);
    this.#listener.onAdded();
  }

  /** The program is stopped: nothing that undoes what it did begins before that is durable. */
  addStop(stop: Stop): void {
    const { seq } = this.#pending.record({ ...compensateRecord(0, stop, this.#pending.at) });
    this.#pending.undo("underWay");
    this.#requireDurable(seq);
  }

  #enqueue(completed: Completed): void {
    if (this.#next === null) {
      this.#next = completed;
    } else {
      this.#queue ??= [];
      this.#queue.push(completed);
    }
  }

  #requireDurable(seq: number): void {
    this.#mustBeDurableSeq = seq;
    this.#pending.requestCommit();
  }
}

/** A mark or an ephemeral record is written with whatever comes next; nothing waits for it. A checkpoint holds for all after it. */
function needsCommit(command: Command): boolean {
  if (command.kind === "mark") return command.record === "checkpoint";
  return command.kind !== "step" || !command.ephemeral;
}
