import { PawlError } from "../model/errors.ts";
import { type Op, type OutcomeOf, opBytes, type RunView } from "../model/op.ts";
import type { Transition, Wake } from "../model/transition.ts";
import { type Conclusion, conclude } from "../rules/conclude.ts";
import { canWait, decide } from "../rules/decide.ts";
import { assert } from "../runtime/assert.ts";
import { type EventLoop, turnEnd } from "../runtime/event-loop.ts";
import type { TimeoutQueue } from "../runtime/timeout-queue.ts";
import type { Reader, Store } from "../store/store.ts";
import { StoreError, stopsEngine } from "../store/store-error.ts";
import { CallerOp, type CallerOpEvents, tooLarge, unavailable } from "./caller-op.ts";
import { type BatchCallers, type Committed, type Committer, NO_CALLERS } from "./committer.ts";
import { OwnedRuns } from "./owned-runs.ts";
import {
  type AppendSource,
  hasCode,
  type PendingOp,
  type QueueEntry,
  QueueGate,
  type SentBatch,
  settle,
  takeFirst,
  withTaken,
} from "./queue.ts";

export interface CoordinatorLimits {
  /** Maximum number of transitions in one commit. */
  readonly batchMax: number;
  /** Maximum number of queued ops. Callers wait while the queue is full. */
  readonly queueMax: number;
  /** Number of runs with pending appends that keeps the store busy. */
  readonly busyMax: number;
}

const NONE: readonly PendingOp[] = [];

/** A batch of more bytes is split. Stores build one statement of a batch, and escape its text, which may double it. */
const BATCH_BYTES = 16 * 1024 * 1024;

/** The largest op of a caller. A text of twice its size is a quarter of what a string can hold. */
const OP_BYTES_MAX = 64 * 1024 * 1024;

/** How many batches with callers' ops an append that can wait yields to. */
const DEFERRALS_MAX = 2;

/**
 * The single writer of this process: ops in, one commit per batch, answers and wake-ups out.
 *
 * 1. A caller gets its outcome, and a run its wake-up, only after the commit that contains it is durable.
 * 2. One batch commits at a time; ops that arrive meanwhile form the next batch. A batch is taken at the end of an event-loop
 *    turn, so ops of many runs share a commit, and each run contributes at most one transition. Exceptions:
 *    - A transition with user code commits by itself, beside the batches, if `store.transactions` is "apart".
 *    - A full batch is sent before the answers of the previous batch are dispatched, if the store sets `batchMax`. It contains no
 *      append of a run that is in the previous batch.
 * 3. Every op is answered, or its caller gets STORE_UNAVAILABLE or ENGINE_BROKEN. A caller gets STORE_UNAVAILABLE when the storage
 *    retries are used up, and after the storage timeout at the latest. Such an op is not sent any more.
 * 4. An append that only ends a run (`canWait`) yields to callers' ops, at most DEFERRALS_MAX times. A caller whose post woke a run
 *    is answered at the end of the turn: after the woken code has run, and after appends that were deferred DEFERRALS_MAX times are sent.
 * 5. A failed assertion stops the coordinator before an invalid state is written. So does an error of the store that no retry can cure.
 */
export class Coordinator {
  readonly #store: Store;
  readonly #committer: Committer;
  /** The ops that are not answered. */
  readonly #callers: TimeoutQueue<CallerOp>;
  readonly #callerEvents: CallerOpEvents;
  readonly #eventLoop: EventLoop;
  readonly #limits: CoordinatorLimits;
  readonly #onAnswered: () => void;
  readonly #onBroken: (error: unknown) => void;
  readonly #owned = new OwnedRuns();
  readonly #answers: AnswerDispatcher;
  readonly #gate: QueueGate;
  #queue: QueueEntry[] = [];
  /** How many runs have an append that is not answered yet. */
  #appending = 0;
  /** How many batches in a row have deferred appends. */
  #deferrals = 0;
  #armed = false;
  #busy = false;
  /** Commits in flight beside the batches. */
  #exclusiveCommits = 0;
  #broken: Error | null = null;
  #idle: Array<() => void> = [];

  constructor(parts: {
    readonly store: Store;
    readonly committer: Committer;
    /** With the storage timeout. No other part adds items. */
    readonly callers: TimeoutQueue<CallerOp>;
    readonly eventLoop: EventLoop;
    readonly limits: CoordinatorLimits;
    readonly onWakes: (wakes: readonly Wake[]) => void;
    /** Called after answers were dispatched: `room` may have grown. */
    readonly onAnswered: () => void;
    readonly onBroken: (error: unknown) => void;
  }) {
    this.#store = parts.store;
    this.#committer = parts.committer;
    this.#callers = parts.callers;
    this.#callerEvents = {
      onAnswered: (caller) => this.#callers.delete(caller),
      onExpired: (caller) => this.#gate.leave(caller),
      onAgain: (caller) => {
        assert(isReadOp(caller.op), "only an op on a run that was read is decided again");
        void this.#decide(caller, caller.op);
      },
    };
    this.#eventLoop = parts.eventLoop;
    this.#limits = parts.limits;
    this.#gate = new QueueGate(parts.limits.queueMax);
    this.#answers = new AnswerDispatcher(parts.eventLoop, this.#owned, parts.onWakes, (entry, conclusion) =>
      this.#settle(entry, conclusion),
    );
    this.#onAnswered = parts.onAnswered;
    this.#onBroken = parts.onBroken;
  }

  /** Registers a run that this process owns. Its appends are decided on this view. */
  own(view: RunView): void {
    this.#owned.own(view);
  }

  disown(runId: string): void {
    this.#owned.disown(runId);
  }

  /** How many more runs can have an append before further ones would only wait for the store. */
  get room(): number {
    return this.#limits.busyMax - this.#appending;
  }

  /** Queues a source that has something to append. `takeAppend` is called when the next batch is taken. */
  enlist(source: AppendSource): void {
    this.#appending += 1;
    this.#queue.push(source);
    this.#arm();
  }

  submit<O extends Op>(op: O): Promise<OutcomeOf<O>> {
    return new Promise<unknown>((resolve, reject) => {
      const caller = new CallerOp(op, this.#callers.nextExpiry(), this.#callerEvents, resolve, reject);
      this.#callers.add(caller);
      if (isReadOp(op)) void this.#decide(caller, op);
      else this.#enqueue(caller);
    }) as Promise<OutcomeOf<O>>;
  }

  /** Returns one outcome per op, in the same order. */
  async submitBatch<const Ops extends readonly Op[]>(ops: Ops): Promise<{ [I in keyof Ops]: OutcomeOf<Ops[I]> }> {
    const outcomes = await Promise.all(ops.map((op) => this.submit(op)));
    return outcomes as unknown as { [I in keyof Ops]: OutcomeOf<Ops[I]> };
  }

  /** Resolves when nothing is queued or in flight. */
  async drained(): Promise<void> {
    while (
      this.#broken === null &&
      (this.#busy || this.#exclusiveCommits + this.#queue.length + this.#gate.waiting > 0)
    ) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Stops the coordinator because of an error that must not occur. */
  stop(error: unknown): void {
    if (this.#broken === null) this.#break(error);
  }

  /** Reads the run of the op, and queues the op. If the run changes before the commit, its guard refuses the op, and this is repeated. */
  async #decide(caller: CallerOp, op: ReadOp): Promise<void> {
    caller.decisions += 1;
    try {
      if (caller.decisions > DECISIONS_MAX) throw unavailable(op);
      caller.view = await viewFor(op, this.#committer, this.#store.reader);
      if (!caller.isAnswered) this.#enqueue(caller);
    } catch (error) {
      caller.fail(error);
    }
  }

  #enqueue(caller: CallerOp): void {
    if (this.#broken === null) {
      this.#gate.enter(caller, this.#queue);
      this.#arm();
    } else {
      caller.fail(this.#broken);
    }
  }

  #arm(): void {
    if (this.#armed || this.#busy || this.#broken !== null) return;
    this.#armed = true;
    this.#eventLoop.afterTurn(() => {
      this.#armed = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#busy || this.#broken !== null) return;
    this.#busy = true;
    let next: SentBatch | null = null;
    try {
      for (let sent = this.#send(NONE); sent !== null; sent = next) {
        const result = await sent.result;
        next = this.#maySendAhead ? await this.#sendAhead(sent.ops) : null;
        const answerCallers = await this.#answers.dispatch(sent, result);
        this.#gate.admit(this.#queue);
        this.#onAnswered();
        if (answerCallers === null) continue;
        if (next === null && this.#deferrals >= DEFERRALS_MAX) next = await this.#sendDeferred(answerCallers);
        else this.#eventLoop.afterTurn(answerCallers);
      }
    } catch (error) {
      this.stop(error);
      return;
    }
    this.#busy = false;
    this.#gate.admit(this.#queue);
    this.#onAnswered();
    if (this.#queue.length > 0) this.#arm();
    else this.#notifyIfIdle();
  }

  get #maySendAhead(): boolean {
    return this.#store.batchMax !== undefined && this.#queue.length >= this.#limits.batchMax;
  }

  /** Sends the deferred appends before the callers they yielded to get their answers (Coordinator.4). */
  async #sendDeferred(answerCallers: () => void): Promise<SentBatch | null> {
    await turnEnd(this.#eventLoop);
    try {
      return this.#send(NONE);
    } finally {
      answerCallers();
    }
  }

  /** Sends a full batch before the answers of the previous one are dispatched. */
  async #sendAhead(previous: readonly PendingOp[]): Promise<SentBatch | null> {
    const sent = this.#send(previous);
    if (sent === null) return null;
    // `#flush` awaits the result later, after the previous answers; until then a rejection must not count as unhandled.
    sent.result.catch(() => undefined);
    // The batch leaves this process by the end of the turn.
    await turnEnd(this.#eventLoop);
    return sent;
  }

  /** Returns null if there is nothing to send. */
  #send(previous: readonly PendingOp[]): SentBatch | null {
    if (this.#broken !== null) return null;
    const { entries, rest } = takeFirst(this.#queue, this.#limits.batchMax, previous);
    this.#queue = rest;
    const now = this.#store.now();
    const ops: PendingOp[] = [];
    const batch: Transition[] = [];
    const deferred: AppendSource[] = [];
    const mayDefer = this.#deferrals < DEFERRALS_MAX && entries.some(({ kind }) => kind === "op");
    let bytes = 0;
    for (const [index, entry] of entries.entries()) {
      if (entry.kind === "op" && entry.isAnswered) continue;
      const op = entry.kind === "op" ? entry.op : entry.takeAppend();
      if (op === null) {
        this.#appending -= 1;
        continue;
      }
      const owned = entry.kind === "op" ? null : this.#owned.get(entry.runId);
      const view = entry.kind === "op" ? entry.view : owned;
      if (mayDefer && entry.kind === "source" && op.kind === "append" && canWait(op, view)) {
        deferred.push(withTaken(entry, op));
        continue;
      }
      const opSize = opBytes(op);
      if (entry.kind === "op" && opSize > OP_BYTES_MAX) {
        entry.fail(tooLarge(op, opSize));
        continue;
      }
      if (batch.length > 0 && bytes + opSize > BATCH_BYTES) {
        const kept = entry.kind === "source" && op.kind === "append" ? withTaken(entry, op) : entry;
        this.#queue = [kept, ...entries.slice(index + 1), ...this.#queue];
        break;
      }
      bytes += opSize;
      const decision = decide(view, op, now);
      if (decision.kind === "outcome") {
        this.#settle(entry, decision);
        continue;
      }
      if (owned !== null) owned.inFlight += 1;
      if (this.#store.transactions === "apart" && hasCode(decision.transition)) {
        void this.#commitApart({ entry, op, owned }, decision.transition);
      } else {
        ops.push({ entry, op, owned });
        batch.push(decision.transition);
      }
    }
    this.#deferrals = deferred.length > 0 ? this.#deferrals + 1 : 0;
    this.#queue.push(...deferred);
    if (batch.length === 0) return null;
    return { ops, batch, result: this.#committer.commit(batch, callersOf(ops)) };
  }

  #settle(entry: QueueEntry, conclusion: Conclusion): void {
    if (entry.kind === "source") this.#appending -= 1;
    settle(entry, conclusion);
  }

  async #commitApart(pending: PendingOp, transition: Transition): Promise<void> {
    this.#exclusiveCommits += 1;
    try {
      const result = await this.#committer.commit([transition], NO_CALLERS);
      const answerCallers = await this.#answers.dispatch({ ops: [pending], batch: [transition] }, result);
      assert(answerCallers === null, "only appends have code, so no caller waits for this commit");
    } catch (error) {
      this.stop(error);
    }
    this.#exclusiveCommits -= 1;
    this.#onAnswered();
    this.#notifyIfIdle();
  }

  #notifyIfIdle(): void {
    if (!this.#busy && this.#queue.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Ops that are in flight may or may not be committed. */
  #break(error: unknown): void {
    const message = `the engine stopped: invariant violated (${String(error)}); nothing invalid was written; restart the process`;
    this.#broken = stopsEngine(error) ? error : new PawlError("ENGINE_BROKEN", message, { cause: error });
    if (stopsEngine(error)) this.#committer.end(error);
    this.#queue = [];
    for (const caller of this.#callers.items) caller.fail(this.#broken);
    for (const resolve of this.#idle.splice(0)) resolve();
    this.#onBroken(error);
  }
}

/** The callers whose ops are in a batch. */
function callersOf(ops: readonly PendingOp[]): BatchCallers {
  return {
    isAnswered: (index) => {
      const entry = ops[index]?.entry;
      return entry?.kind === "op" && entry.isAnswered;
    },
    fail: (cause) => {
      for (const { entry, op } of ops) if (entry.kind === "op") entry.fail(unavailable(op, cause));
    },
  };
}

/** How many answers are dispatched in one event-loop turn. The code they resume runs in that turn, and all other work waits. */
const ANSWERS_MAX = 250;

/** Dispatches the answers of a commit to callers and append sources, and its wake-ups to the worker. */
class AnswerDispatcher {
  readonly #eventLoop: EventLoop;
  readonly #owned: OwnedRuns;
  readonly #onWakes: (wakes: readonly Wake[]) => void;
  readonly #settle: (entry: QueueEntry, conclusion: Conclusion) => void;

  constructor(
    eventLoop: EventLoop,
    owned: OwnedRuns,
    onWakes: (wakes: readonly Wake[]) => void,
    settle: (entry: QueueEntry, conclusion: Conclusion) => void,
  ) {
    this.#eventLoop = eventLoop;
    this.#owned = owned;
    this.#onWakes = onWakes;
    this.#settle = settle;
  }

  /**
   * Returns a function that answers the callers who must wait for the end of the turn (Coordinator.4). Null if there are none. More than
   * ANSWERS_MAX answers are spread over several turns, because the commit has already kept the event loop busy.
   */
  async dispatch(
    { ops, batch }: Omit<SentBatch, "result">,
    { commit, resent, abandoned }: Committed,
  ): Promise<(() => void) | null> {
    const deferred: Array<() => void> = [];
    const wokenFirst = commit.wakes.length > 0 && ops.length <= ANSWERS_MAX;
    let next = 0;
    let index = -1;
    for (const { entry, op, owned } of ops) {
      index += 1;
      if (ops.length > ANSWERS_MAX && index % ANSWERS_MAX === 0) await turnEnd(this.#eventLoop);
      if (abandoned.has(index)) continue;
      const answer = commit.answers[next++];
      const transition = batch[index];
      assert(answer !== undefined && transition !== undefined, "a commit has one answer for each of its transitions");
      if (owned !== null && transition.kind === "append") this.#owned.answered(transition, answer, owned);
      const conclusion = conclude(op, answer, resent && owned?.hasEarlierAppend !== true, transition);
      if (wokenFirst && entry.kind === "op" && transition.kind === "post") {
        entry.markAnswered();
        deferred.push(this.#settling(entry, conclusion));
      } else this.#settle(entry, conclusion);
    }
    if (commit.wakes.length > 0) this.#onWakes(commit.wakes);
    return deferred.length === 0 ? null : inOrder(deferred);
  }

  /** A separate method, so that `dispatch` allocates a closure only for deferred answers. */
  #settling(entry: QueueEntry, conclusion: Conclusion): () => void {
    return () => this.#settle(entry, conclusion);
  }
}

function inOrder(calls: ReadonlyArray<() => void>): () => void {
  return () => {
    for (const call of calls) call();
  };
}

/** An op on a run that must be read before the op can be decided. */
type ReadOp = Extract<Op, { readonly opId: string }>;

function isReadOp(op: Op): op is ReadOp {
  return "opId" in op;
}

/** How often a caller's op is decided because its run keeps changing its owner. */
const DECISIONS_MAX = 100;

/** The view may be stale when the op is committed. The guard of the transition then refuses it. */
async function viewFor(op: ReadOp, committer: Committer, reader: Reader): Promise<RunView | null> {
  try {
    const run = await committer.retrying(() => reader.get(op.runId));
    return run === null ? null : { ...run, seq: -1 };
  } catch (error) {
    throw error instanceof StoreError ? unavailable(op, error) : error;
  }
}
