import type { AppendOp } from "../model/op.ts";
import { UNDOABLE } from "../model/record.ts";
import type { Run } from "../model/run.ts";
import { emptyAppend } from "../model/transition.ts";
import type { Completion } from "../workflow/command.ts";
import type { RecordDraft } from "./pending-append.ts";
import type { SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { isThenable, type StepAttempt } from "./step-attempt.ts";

/** An attempt that was sent to the store, and the record that its body completes there. */
interface SentTransaction {
  readonly attempt: StepAttempt;
  readonly record: RecordDraft;
  completion: Completion;
  /** How often the store has called the body. */
  calls: number;
}

const NOTHING: Completion = { outcome: "ok", value: undefined, detail: null };

/**
 * Steps whose body the store executes inside its own transaction. Each is sent as an exclusive append with the body and the record
 * that the body completes. Until the store answers, the run records nothing else.
 *
 * 1. The record commits together with the body's writes, or neither does.
 * 2. The program gets the value of the call that was committed. The store calls a body again only if the previous call was not
 *    committed. If that is unknown, the run is reloaded and its journal decides.
 */
export class TransactionAppend {
  readonly #state: SessionState;
  readonly #rejections: SessionServices["rejections"];
  #queue: StepAttempt[] = [];
  #sent: SentTransaction | null = null;

  constructor(state: SessionState, rejections: SessionServices["rejections"]) {
    this.#state = state;
    this.#rejections = rejections;
  }

  get inFlight(): boolean {
    return this.#sent !== null;
  }

  /**
   * Whether a record that is already in the journal may belong to an earlier call than the last. The reply to the first call may
   * have been lost, and the body called again before its commit was visible.
   */
  get mayHaveCommitted(): boolean {
    return this.#sent !== null && this.#sent.calls > 1;
  }

  /** Whether a transaction is queued. */
  get waiting(): boolean {
    return this.#queue.length > 0;
  }

  add(attempt: StepAttempt): void {
    this.#queue.push(attempt);
    this.#state.pending.requestCommit();
  }

  /** Returns the next transaction as an append, and buffers completions until it is answered. Null if there is none. */
  takeOp({ id: runId, epoch }: Pick<Run, "id" | "epoch">): AppendOp | null {
    const { pending, completions, steps } = this.#state;
    this.#queue = this.#queue.filter((attempt) => steps.has(attempt));
    const attempt = this.#queue.shift();
    if (attempt === undefined) return null;
    const sent: SentTransaction = {
      attempt,
      record: recordOf(attempt, pending.seq + 1, pending.at),
      completion: NOTHING,
      calls: 0,
    };
    this.#sent = sent;
    completions.buffer();
    return {
      ...emptyAppend(runId, epoch),
      records: [sent.record],
      undo: isUndoable(attempt) ? "some" : null,
      transaction: (tx) => this.#run(sent, tx),
    };
  }

  /** The transaction is durable. Delivers its value to the program. */
  accepted(): void {
    const { pending, completions, steps } = this.#state;
    const sent = this.#sent;
    this.#sent = null;
    if (sent === null) return;
    const { attempt, record, completion } = sent;
    const { payload, seq, at } = record;
    pending.addCommitted(record);
    if (isUndoable(attempt)) pending.adoptUndo("some");
    if (steps.has(attempt)) {
      steps.committedByStore(attempt);
      completions.replayed(payload);
      completions.adopt([{ kind: "completed", command: attempt.step, completion, payload, seq, at }]);
    }
    completions.flush();
  }

  /** The transaction was rolled back. Its step is retried or fails like any other. */
  failed(error: unknown): void {
    const { completions, steps } = this.#state;
    const attempt = this.#sent?.attempt;
    this.#sent = null;
    completions.flush();
    if (attempt !== undefined && steps.has(attempt)) steps.attemptFailed(attempt, error);
  }

  #run(sent: SentTransaction, tx: unknown): void | Promise<void> {
    const { step } = sent.attempt;
    sent.calls += 1;
    let value: unknown;
    const call = (): void => {
      value = step.transact?.(tx, sent.attempt);
    };
    this.#rejections.watched(sent.attempt.runId, call, step.context, step.location);
    if (isThenable(value)) return Promise.resolve(value).then((result) => this.#complete(sent, result));
    this.#complete(sent, value);
  }

  #complete(sent: SentTransaction, value: unknown): void {
    const stored = this.#state.codec.roundTrip(value, `output of transaction ${sent.record.location}`);
    sent.record.payload = stored.payload;
    sent.completion = { outcome: "ok", value: stored.value, detail: sent.record.detail };
  }
}

function isUndoable({ step }: StepAttempt): boolean {
  return step.rollback !== undefined && step.rollback !== null;
}

function recordOf(attempt: StepAttempt, seq: number, at: number): RecordDraft {
  const { step, attempt: attempts, startedAt } = attempt;
  const { location, record: kind } = step;
  const detail = isUndoable(attempt) ? UNDOABLE : null;
  return { seq, location, kind, outcome: "ok", payload: null, attempts, startedAt, at, detail };
}
