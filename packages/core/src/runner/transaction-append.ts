import type { AppendOp } from "../model/op.ts";
import { UNDOABLE } from "../model/record.ts";
import type { Run } from "../model/run.ts";
import { emptyAppend } from "../model/transition.ts";
import type { Completion } from "../workflow/command.ts";
import type { RecordDraft } from "./pending-append.ts";
import type { SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { isThenable, type StepAttempt } from "./step-attempt.ts";

/** A body on its way to the store, and the record that it completes there. */
interface SentTransaction {
  readonly body: StepAttempt;
  readonly record: RecordDraft;
  completion: Completion;
  /** How often the store has called the body. */
  calls: number;
}

const NOTHING: Completion = { outcome: "ok", value: undefined, detail: null };

/**
 * Steps whose body the store runs inside its own transaction. Each goes in an append of its own, which holds the body and the
 * record that the body completes; until the store has answered nothing else of the run is recorded.
 *
 * 1. The record is committed with what the body did, or neither is.
 * 2. The value that the program gets is that of the call that was committed: a body is called again only when the call
 *    before it was not. Where that can't be known, the journal is read for it.
 */
export class TransactionAppend {
  readonly #state: SessionState;
  readonly #rejections: SessionServices["rejections"];
  #queue: StepAttempt[] = [];
  #sent: SentTransaction | null = null;

  constructor(session: SessionState, rejections: SessionServices["rejections"]) {
    this.#state = session;
    this.#rejections = rejections;
  }

  /** Whether the store has been asked and has not answered. */
  get inFlight(): boolean {
    return this.#sent !== null;
  }

  /**
   * Whether a record that is there already may be of another call than the last. The answer to the first may have been lost, and
   * the body called again before its commit was to be seen.
   */
  get mayHaveCommitted(): boolean {
    return this.#sent !== null && this.#sent.calls > 1;
  }

  /** Whether there is something to put to the store. */
  get waiting(): boolean {
    return this.#queue.length > 0;
  }

  add(body: StepAttempt): void {
    this.#queue.push(body);
    this.#state.pending.requestCommit();
  }

  /** The next body, as an append. While it is under way completions that come are kept back. */
  takeOp({ id: runId, epoch }: Pick<Run, "id" | "epoch">): AppendOp | null {
    const { pending, completions, steps } = this.#state;
    this.#queue = this.#queue.filter((body) => steps.has(body));
    const body = this.#queue.shift();
    if (body === undefined) return null;
    const asked: SentTransaction = {
      body,
      record: recordOf(body, pending.seq + 1, pending.at),
      completion: NOTHING,
      calls: 0,
    };
    this.#sent = asked;
    completions.buffer();
    return {
      ...emptyAppend(runId, epoch),
      records: [asked.record],
      undo: isUndoable(body) ? "some" : null,
      transaction: (tx) => this.#run(asked, tx),
    };
  }

  /** It is done, and durable: the program hears of it. */
  accepted(): void {
    const { pending, completions, steps } = this.#state;
    const asked = this.#sent;
    this.#sent = null;
    if (asked === null) return;
    const { body, record, completion } = asked;
    const { payload, seq, at } = record;
    pending.addCommitted(record);
    if (isUndoable(body)) pending.adoptUndo("some");
    if (steps.has(body)) {
      steps.committedByStore(body);
      completions.replayed(payload);
      completions.adopt([{ kind: "completed", command: body.step, completion, payload, seq, at }]);
    }
    completions.flush();
  }

  /** Nothing has happened: it is tried again, or fails, as any step. */
  failed(error: unknown): void {
    const { completions, steps } = this.#state;
    const body = this.#sent?.body;
    this.#sent = null;
    completions.flush();
    if (body !== undefined && steps.has(body)) steps.attemptFailed(body, error);
  }

  #run(asked: SentTransaction, tx: unknown): void | Promise<void> {
    const { step } = asked.body;
    asked.calls += 1;
    let value: unknown;
    this.#rejections.watched(asked.body.runId, () => {
      value = step.transact?.(tx, asked.body);
    });
    if (isThenable(value)) return Promise.resolve(value).then((result) => this.#complete(asked, result));
    this.#complete(asked, value);
  }

  #complete(asked: SentTransaction, value: unknown): void {
    const kept = this.#state.codec.roundTrip(value, `output of transaction ${asked.record.location}`);
    asked.record.payload = kept.payload;
    asked.completion = { outcome: "ok", value: kept.value, detail: asked.record.detail };
  }
}

function isUndoable({ step }: StepAttempt): boolean {
  return step.rollback !== undefined && step.rollback !== null;
}

function recordOf(body: StepAttempt, seq: number, at: number): RecordDraft {
  const { step, attempt, startedAt } = body;
  const { location, record: kind } = step;
  const detail = isUndoable(body) ? UNDOABLE : null;
  return { seq, location, kind, outcome: "ok", payload: null, attempts: attempt, startedAt, at, detail };
}
