import { PawlError } from "../model/errors.ts";
import type { Op, OutcomeOf, Outcomes, RunView } from "../model/op.ts";
import type { Transition, Wake } from "../model/transition.ts";
import { type Conclusion, conclude } from "../rules/conclude.ts";
import { canWait, decide } from "../rules/decide.ts";
import { assert } from "../runtime/assert.ts";
import { type EventLoop, turnEnd } from "../runtime/event-loop.ts";
import type { Reader, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import type { Committed, Committer } from "./committer.ts";
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
  unavailable,
  withTaken,
} from "./queue.ts";

export interface CoordinatorLimits {
  /** Transitions in one commit. */
  readonly batchMax: number;
  /** Ops that may wait; callers beyond it wait to be let in. */
  readonly queueMax: number;
  /** Runs with something to add that keep the store busy. */
  readonly busyMax: number;
}

const NONE: readonly PendingOp[] = [];

/** How many batches with callers' ops may go before what nobody waits for. */
const PASSES_MAX = 2;

/**
 * The one writer of this process. Ops come in, each batch becomes one commit, answers and wake-ups go out.
 *
 * 1. An outcome or a wake-up is given only after the commit that contains it is durable.
 * 2. A batch is taken at the end of a turn of the event loop, and one commit is under way at a time: what comes meanwhile is
 *    the next batch. So ops of many runs share a commit, and all that one run has to add is one transition. Only code that
 *    may wait is committed beside it, where the store asks for that. A full batch that waits goes to a store that works beside this
 *    process before the answers of the one before are given, without the runs that these are for.
 * 3. An op that was let in is answered, or its caller is told that the store is not there; none is dropped.
 * 4. An append that can wait is passed over while callers have something to commit, a few times. Whoever posts something that wakes a
 *    run is answered at the end of the turn: the code that was woken goes first, and then what was passed over often enough.
 * 5. A failed assertion stops everything before a wrong state is written.
 */
export class Coordinator {
  readonly #store: Store;
  readonly #committer: Committer;
  readonly #eventLoop: EventLoop;
  readonly #limits: CoordinatorLimits;
  readonly #onAnswered: () => void;
  readonly #onBroken: (error: unknown) => void;
  readonly #owned = new OwnedRuns();
  readonly #answers: AnswerDispatcher;
  readonly #gate: QueueGate;
  #queue: QueueEntry[] = [];
  /** How many runs have something to add that is not committed and answered. */
  #appending = 0;
  /** How often appends that can wait were passed over. */
  #deferrals = 0;
  #armed = false;
  #busy = false;
  /** Commits under way beside the batches. */
  #exclusiveCommits = 0;
  #broken: Error | null = null;
  #idle: Array<() => void> = [];

  constructor(parts: {
    readonly store: Store;
    readonly committer: Committer;
    readonly eventLoop: EventLoop;
    readonly limits: CoordinatorLimits;
    readonly onWakes: (wakes: readonly Wake[]) => void;
    /** What was on its way is answered: there may be room for more. */
    readonly onAnswered: () => void;
    readonly onBroken: (error: unknown) => void;
  }) {
    this.#store = parts.store;
    this.#committer = parts.committer;
    this.#eventLoop = parts.eventLoop;
    this.#limits = parts.limits;
    this.#gate = new QueueGate(parts.limits.queueMax);
    this.#answers = new AnswerDispatcher(parts.eventLoop, this.#owned, parts.onWakes, (entry, conclusion) =>
      this.#settle(entry, conclusion),
    );
    this.#onAnswered = parts.onAnswered;
    this.#onBroken = parts.onBroken;
  }

  /** Makes this process's knowledge of a run it owns known; its appends are decided on it. */
  own(view: RunView): void {
    this.#owned.own(view);
  }

  disown(runId: string): void {
    this.#owned.disown(runId);
  }

  /** How many more runs may have something to add before more would only wait. */
  get room(): number {
    return this.#limits.busyMax - this.#appending;
  }

  /** The source has something to add; it will be asked when the next batch is taken. */
  enlist(source: AppendSource): void {
    this.#appending += 1;
    this.#queue.push(source);
    this.#arm();
  }

  submit<O extends Op>(op: O): Promise<OutcomeOf<O>> {
    const outcome =
      "opId" in op
        ? submitWithRead(op, this.#committer, this.#store.reader, (view) => this.#submitOne(op, view))
        : this.#submitOne(op, null);
    return outcome as Promise<OutcomeOf<O>>;
  }

  /** The outcomes stand at the places of their ops. */
  async submitBatch<const Ops extends readonly Op[]>(ops: Ops): Promise<{ [I in keyof Ops]: OutcomeOf<Ops[I]> }> {
    const outcomes = await Promise.all(ops.map((op) => this.submit(op)));
    return outcomes as unknown as { [I in keyof Ops]: OutcomeOf<Ops[I]> };
  }

  /** The store was reached by other calls than commits. */
  markUp(): void {
    this.#committer.markUp();
  }

  /** Resolves when nothing is queued or under way. */
  async drained(): Promise<void> {
    while (
      this.#broken === null &&
      (this.#busy || this.#exclusiveCommits + this.#queue.length + this.#gate.waiting > 0)
    ) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Null: it has to be decided anew. */
  #submitOne(op: Op, view: RunView | null): Promise<AnyOutcome | null> {
    const room = this.#broken === null ? this.#gate.enter(this.#queue.length) : null;
    return room === null ? this.#enqueue(op, view) : room.then(() => this.#enqueue(op, view));
  }

  #enqueue(op: Op, view: RunView | null): Promise<AnyOutcome | null> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    return new Promise((resolve, fail) => {
      const settle = (conclusion: Conclusion): void =>
        resolve(conclusion.kind === "outcome" ? conclusion.outcome : null);
      this.#gate.onTaken();
      this.#queue.push({ kind: "op", op, view, settle, fail });
      this.#arm();
    });
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
    const taken: (readonly QueueEntry[])[] = [];
    let next: SentBatch | null = null;
    try {
      for (let sent = this.#send(taken, NONE); sent !== null; sent = next) {
        const result = await sent.result;
        next = this.#maySendAhead ? await this.#sendAhead(taken, sent.ops) : null;
        const tell = await this.#answers.dispatch(sent, result);
        taken.shift();
        this.#gate.admit(this.#queue.length);
        this.#onAnswered();
        if (tell === null) continue;
        if (next === null && this.#deferrals >= PASSES_MAX) next = await this.#sendDeferred(taken, tell);
        else this.#eventLoop.afterTurn(tell);
      }
    } catch (error) {
      this.#break(error, taken.flat());
      return;
    }
    this.#busy = false;
    this.#gate.admit(this.#queue.length);
    this.#onAnswered();
    if (this.#queue.length > 0) this.#arm();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  get #maySendAhead(): boolean {
    return this.#store.batchMax !== undefined && this.#queue.length >= this.#limits.batchMax;
  }

  /** Sends what was passed over as often as may be, before those have their answers for whom it was passed over. */
  async #sendDeferred(taken: (readonly QueueEntry[])[], tell: () => void): Promise<SentBatch | null> {
    await turnEnd(this.#eventLoop);
    try {
      return this.#send(taken, NONE);
    } finally {
      tell();
    }
  }

  /** Sends a full batch that waits, while the answers of the one before are not given yet. */
  async #sendAhead(taken: (readonly QueueEntry[])[], before: readonly PendingOp[]): Promise<SentBatch | null> {
    const sent = this.#send(taken, before);
    if (sent === null) return null;
    // By the end of the turn it is on its way; its result is asked for when the answers before it are given.
    sent.result.catch(() => undefined);
    await turnEnd(this.#eventLoop);
    return sent;
  }

  /** Null: nothing had to be sent. */
  #send(taken: (readonly QueueEntry[])[], before: readonly PendingOp[]): SentBatch | null {
    const { entries, rest } = takeFirst(this.#queue, this.#limits.batchMax, before);
    this.#queue = rest;
    taken.push(entries);
    const now = this.#store.now();
    const asked: PendingOp[] = [];
    const batch: Transition[] = [];
    const passed: AppendSource[] = [];
    const mayPass = this.#deferrals < PASSES_MAX && entries.some(({ kind }) => kind === "op");
    for (const entry of entries) {
      const op = entry.kind === "op" ? entry.op : entry.takeAppend();
      if (op === null) {
        this.#appending -= 1;
        continue;
      }
      const owned = entry.kind === "op" ? null : this.#owned.get(entry.runId);
      const view = entry.kind === "op" ? entry.view : owned;
      if (mayPass && entry.kind === "source" && op.kind === "append" && canWait(op, view)) {
        passed.push(withTaken(entry, op));
        continue;
      }
      const decision = decide(view, op, now);
      if (decision.kind === "outcome") {
        this.#settle(entry, decision);
        continue;
      }
      if (owned !== null) owned.inFlight += 1;
      if (this.#store.transactions === "apart" && hasCode(decision.transition)) {
        void this.#commitApart({ entry, op, owned }, decision.transition);
      } else {
        asked.push({ entry, op, owned });
        batch.push(decision.transition);
      }
    }
    this.#deferrals = passed.length > 0 ? this.#deferrals + 1 : 0;
    this.#queue.push(...passed);
    if (batch.length === 0) return null;
    return { ops: asked, batch, result: this.#committer.commit(batch, (index) => asked[index]?.entry.kind === "op") };
  }

  #settle(entry: QueueEntry, conclusion: Conclusion): void {
    if (entry.kind === "source") this.#appending -= 1;
    settle(entry, conclusion);
  }

  async #commitApart(asked: PendingOp, transition: Transition): Promise<void> {
    this.#exclusiveCommits += 1;
    try {
      const result = await this.#committer.commit([transition], () => false);
      const tell = await this.#answers.dispatch({ ops: [asked], batch: [transition] }, result);
      assert(tell === null, "code is not posted");
    } catch (error) {
      this.#break(error, [asked.entry]);
    }
    this.#exclusiveCommits -= 1;
    this.#onAnswered();
    if (!this.#busy && this.#queue.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** `entries` were on their way: whether their callers' ops happened is not known. */
  #break(error: unknown, entries: readonly QueueEntry[]): void {
    const message = `the engine stopped before it could write a wrong state: ${String(error)}`;
    this.#broken = new PawlError("ENGINE_BROKEN", message, { cause: error });
    for (const entry of [...entries, ...this.#queue]) if (entry.kind === "op") entry.fail(this.#broken);
    this.#queue = [];
    this.#gate.open();
    for (const resolve of this.#idle.splice(0)) resolve();
    this.#onBroken(error);
  }
}

/** How many answers are given in one turn of the event loop: what they set in motion runs in it, and all else waits for its end. */
const ANSWERS_MAX = 250;

/** Gives what a commit has brought to those who asked for it, and the wake-ups to whoever works on the runs. */
export class AnswerDispatcher {
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
   * Many answers have eventLoop of their own: the commit has kept the loop busy for long enough. What is returned tells those who are to be
   * told at the end of the turn; null: there are none.
   */
  async dispatch(
    { ops: asked, batch }: Omit<SentBatch, "result">,
    { commit, resent, abandoned: given }: Committed,
  ): Promise<(() => void) | null> {
    const callers: Array<() => void> = [];
    const codeFirst = commit.wakes.length > 0 && asked.length <= ANSWERS_MAX;
    let next = 0;
    let index = -1;
    for (const { entry, op, owned } of asked) {
      index += 1;
      if (asked.length > ANSWERS_MAX && index % ANSWERS_MAX === 0) await turnEnd(this.#eventLoop);
      if (given.has(index)) {
        if (entry.kind === "op") entry.fail(unavailable(op));
        continue;
      }
      const answer = commit.answers[next++];
      const transition = batch[index];
      assert(answer !== undefined && transition !== undefined, "a commit answers each of its transitions");
      if (owned !== null && transition.kind === "append") this.#owned.answered(transition, answer, owned);
      const conclusion = conclude(op, answer, resent && owned?.isSecond !== true, transition);
      if (codeFirst && entry.kind === "op" && transition.kind === "post")
        callers.push(this.#settling(entry, conclusion));
      else this.#settle(entry, conclusion);
    }
    if (commit.wakes.length > 0) this.#onWakes(commit.wakes);
    return callers.length === 0 ? null : inOrder(callers);
  }

  /** Apart, so that only answers that are put off need a scope of their own. */
  #settling(entry: QueueEntry, conclusion: Conclusion): () => void {
    return () => this.#settle(entry, conclusion);
  }
}

function inOrder(calls: ReadonlyArray<() => void>): () => void {
  return () => {
    for (const call of calls) call();
  };
}

export type AnyOutcome = Outcomes[Op["kind"]];

/** An op about a run that has to be read before it can be decided. */
type ReadOp = Extract<Op, { readonly opId: string }>;

/** How often an op from outside is decided anew because the run changed hands meanwhile. */
const AGAIN_MAX = 100;

/** Reads the run and asks for the op, which alone is decided anew: when the run has changed hands meanwhile, `ask` gives null. */
export async function submitWithRead(
  op: ReadOp,
  committer: Committer,
  reader: Reader,
  ask: (view: RunView | null) => Promise<AnyOutcome | null>,
): Promise<AnyOutcome> {
  for (let attempt = 1; attempt <= AGAIN_MAX; attempt += 1) {
    const outcome = await ask(await viewFor(op, committer, reader));
    if (outcome !== null) return outcome;
  }
  throw unavailable(op);
}

/** What is known of the run. It may be stale by the time of the commit: the guard decides. */
async function viewFor(op: ReadOp, committer: Committer, reader: Reader): Promise<RunView | null> {
  try {
    const run = await committer.retrying(() => reader.get(op.runId));
    return run === null ? null : { ...run, seq: -1 };
  } catch (error) {
    throw error instanceof StoreError ? unavailable(op, error) : error;
  }
}
