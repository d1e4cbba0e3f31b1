import { compensateRecord, type Outcome, type Stop, UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import { FifoQueue } from "../runtime/fifo-queue.ts";
import type { Command, Completion, StepCommand } from "../workflow/command.ts";
import { type AttachedChildren, isAttachedStart } from "./attached-children.ts";
import type { PendingAppend } from "./pending-append.ts";
import type { SessionStateListener } from "./session-ports.ts";
import type { StepAttempt } from "./step-attempt.ts";

/** The end of a command: its record and its completion. */
export interface CommandEnd {
  readonly outcome: Outcome;
  readonly payload: Payload;
  readonly completion: Completion;
  readonly detail: string | null;
  /** Set for a child with rollbacks. A step with a rollback has `detail` UNDOABLE instead. */
  readonly undoable?: boolean;
}

/** A recorded completion for the program. */
export interface Completed {
  readonly kind: "completed";
  readonly command: Command;
  readonly completion: Completion;
  readonly payload: Payload;
  readonly seq: number;
  readonly at: number;
}

/** The steps whose start is recorded and whose end is not. */
interface StartedSteps {
  readonly hasUnfinished: boolean;
  started(step: StepCommand, seq: number): void;
}

/** Queue of completions for the program. Each is recorded first, and delivered in seq order. */
export class Completions {
  readonly #pending: PendingAppend;
  readonly #listener: Pick<SessionStateListener, "onAdded">;
  readonly #children: AttachedChildren;
  readonly #undo: StartedSteps;
  /** The next completion. Usually there is only one, so the queue is allocated late. */
  #next: Completed | null = null;
  #queue: FifoQueue<Completed> | null = null;
  /** Completions that arrive while nothing may be recorded. Null if they are recorded at once. */
  #buffered: Array<() => void> | null = null;
  #mustBeDurableSeq: number;
  #bytes = 0;

  constructor(
    pending: PendingAppend,
    listener: Pick<SessionStateListener, "onAdded">,
    { children, undo }: { readonly children: AttachedChildren; readonly undo: StartedSteps },
  ) {
    this.#children = children;
    this.#undo = undo;
    this.#pending = pending;
    this.#listener = listener;
    this.#mustBeDurableSeq = pending.seq;
  }

  get size(): number {
    return this.#next === null ? 0 : 1 + (this.#queue?.size ?? 0);
  }

  /** The newest record that must be durable before a step body starts. */
  get mustBeDurableSeq(): number {
    return this.#mustBeDurableSeq;
  }

  /** The bytes of the payloads that the program received. */
  get bytes(): number {
    return this.#bytes;
  }

  take(): Completed | null {
    const next = this.#next;
    this.#next = this.#queue?.take() ?? null;
    return next;
  }

  /** Counts the payload of a record that was not added here. */
  replayed(payload: Payload): void {
    this.#bytes += payload?.length ?? 0;
  }

  /** Buffers completions instead of recording them, until `flush`. */
  buffer(): void {
    this.#buffered ??= [];
  }

  get hasBuffered(): boolean {
    return this.#buffered !== null && this.#buffered.length > 0;
  }

  flush(): void {
    const buffered = this.#buffered ?? [];
    this.#buffered = null;
    for (const add of buffered) add();
  }

  /** Queues completions whose records are already durable. */
  adopt(completed: readonly Completed[]): void {
    for (const each of completed) this.#enqueue(each);
    this.#mustBeDurableSeq = this.#pending.seq;
    this.#listener.onAdded();
  }

  add(command: Command, end: CommandEnd, attempt?: StepAttempt): void {
    if (this.#buffered !== null) {
      this.#addBuffered(command, end, attempt);
      return;
    }
    const { seq, at } = this.#pending.record({
      seq: 0,
      location: command.location,
      kind: command.record,
      outcome: end.outcome,
      payload: end.payload,
      attempts: attempt === undefined ? 0 : attempt.attempt,
      startedAt: attempt === undefined ? command.issuedAt : attempt.startedAt,
      at: 0,
      detail: end.detail,
    });
    this.#enqueue({ kind: "completed", command, completion: end.completion, payload: end.payload, seq, at });
    this.#bytes += end.payload?.length ?? 0;
    this.#children.recorded(command, end.detail);
    if (this.#pending.undoState !== "underWay") this.#noteUndo(command, end);
    if (needsCommit(command)) this.#requireDurable(seq);
    this.#listener.onAdded();
  }

  /** The row says whether a cancel has to compensate, so it is written with the record. */
  #noteUndo(command: Command, end: CommandEnd): void {
    if (end.undoable === true || (end.detail === UNDOABLE && command.kind === "step")) this.#pending.undo("some");
    else if (isAttachedStart(command)) this.#pending.undo("some");
    else if (command.record === "checkpoint")
      this.#pending.undo(this.#children.size > 0 || this.#undo.hasUnfinished ? "some" : "none");
  }

  /** A separate method, so that only a buffered completion allocates a closure. */
  #addBuffered(command: Command, end: CommandEnd, attempt?: StepAttempt): void {
    this.#buffered?.push(() => this.add(command, end, attempt));
  }

  /** Records that the body of a step may start. It completes nothing. The body starts when the record is durable. */
  addStart(step: StepCommand): void {
    const { seq } = this.#pending.record({
      seq: 0,
      location: step.location,
      kind: "started",
      outcome: "ok",
      payload: null,
      attempts: step.attempts,
      startedAt: step.issuedAt,
      at: 0,
      detail: null,
    });
    this.#undo.started(step, seq);
    this.#pending.undo("some");
    this.#requireDurable(seq);
  }

  /** Records a failed attempt that is to be retried. It completes nothing. */
  addRetry(step: StepCommand, payload: Payload, attempt: StepAttempt): void {
    if (this.#buffered !== null) {
      this.#buffered.push(() => this.addRetry(step, payload, attempt));
      return;
    }
    const { seq } = this.#pending.record({
      seq: 0,
      location: step.location,
      kind: "retry",
      outcome: "failed",
      payload,
      attempts: attempt.attempt,
      startedAt: attempt.startedAt,
      at: 0,
      detail: String(step.retryAt),
    });
    this.#requireDurable(seq);
    this.#listener.onAdded();
  }

  /** Records that the program is stopped. No rollback starts before that is durable. */
  addStop(stop: Stop): void {
    const { seq } = this.#pending.record({ ...compensateRecord(0, stop, this.#pending.at) });
    this.#pending.undo("underWay");
    this.#requireDurable(seq);
  }

  #enqueue(completed: Completed): void {
    if (this.#next === null) {
      this.#next = completed;
    } else {
      this.#queue ??= new FifoQueue();
      this.#queue.push(completed);
    }
  }

  #requireDurable(seq: number): void {
    this.#mustBeDurableSeq = seq;
    this.#pending.requestCommit();
  }
}

/**
 * Marks and ephemeral records need no commit of their own; they go with the next one. Checkpoints do: later steps rely on them.
 */
function needsCommit(command: Command): boolean {
  if (command.kind === "mark") return command.record === "checkpoint";
  return command.kind !== "step" || !command.ephemeral;
}
