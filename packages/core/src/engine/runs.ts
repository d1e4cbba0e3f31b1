import { type Duration, durationText, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import { endedGenerationOf } from "../model/names.ts";
import { guardArguments, kinds, optionTable, PAGE_KINDS, readOptions } from "../model/option-check.ts";
import { type Codec, readingOf } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { rollbackFailures } from "../model/rollback-failure.ts";
import { isTerminal, type NewRun, type Run, STATUSES } from "../model/run.ts";
import { runOfStart, type SeenStart } from "../runner/run-of-start.ts";
import { membersOf, type SmallSet, withMember, withoutMember } from "../runner/small-set.ts";
import { readSnapshot } from "../runner/snapshot.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Hint, Page, Reader, Store } from "../store/store.ts";
import { stopsEngine } from "../store/store-error.ts";
import { CallLimit, type CallLimits } from "./call-limit.ts";
import type { EventHub, RunEnd } from "./events.ts";
import {
  Handle,
  type RecordView,
  type ResultOptions,
  type RunCalls,
  type RunHandle,
  type RunSummary,
  recordView,
  runSummary,
  type SinceSnapshot,
  type WatchOptions,
} from "./run-handle.ts";
import { listRuns, type RunQuery } from "./run-query.ts";

/** Calls of a handle that the engine executes. */
type Controls = Pick<RunCalls, "send" | "cancel" | "terminate" | "pause" | "resume" | "rewind" | "retry">;

export interface RunsParts extends Controls {
  readonly store: Store;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly hub: EventHub;
  /** Whether this process executes the run, and so reports its end through `ended`. */
  readonly isLocal: (runId: string) => boolean;
  /** Repeats a store call according to `storageRetryPolicy`. */
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Called with the end of a run, or with null to read whether the run has ended in another process. */
type OnRunEnd = (end: RunEnd | null) => void;

/** The maximum number of runs that are read per poll. 100 reads keep the event loop busy for a few ms. */
const POLL_RUNS_MAX = 100;
/** How many runs that this process started are remembered until their results are requested. */
const STARTED_MAX = 10_000;
const JOURNAL_PAGE = 500;

const LIST_QUERY = optionTable<RunQuery>("list", {
  ...PAGE_KINDS,
  status: kinds.list(kinds.oneOf(...STATUSES)),
  workflow: kinds.name,
  version: kinds.integer(1),
  tag: kinds.name,
  parent: kinds.runId,
  createdAfter: kinds.time,
  createdBefore: kinds.time,
  endedAfter: kinds.time,
  endedBefore: kinds.time,
});

const RESULT_OPTIONS = optionTable<ResultOptions>("result", {
  timeout: kinds.period,
  signal: kinds.signal,
  waitWhilePaused: kinds.flag,
});
const WATCH_OPTIONS = optionTable<WatchOptions>("watch", { after: kinds.integer(0), signal: kinds.signal });
const NO_OPTIONS: ResultOptions = {};

/** Handles, reads of runs, and waiters for the ends of runs, in this process or in another. */
export class Runs {
  readonly #parts: RunsParts;
  readonly #calls: RunCalls;
  readonly #waiters = new Map<string, SmallSet<OnRunEnd>>();
  /** Called by a hint that any run may have changed. */
  readonly #watchers = new Set<() => void>();
  /**
   * Runs that this process started for another one, and that neither a hint nor a call of this process has concerned since. Their ends
   * are still to come, so a result waits without a read. If the hint of an end is lost, the poll reads the run. With the ids of their starts.
   */
  readonly #started = new Map<string, string>();
  /** Whether the store has sent a hint. Not every store does. */
  #hasHints = false;
  /** Each aborts a read in progress. `close` calls them, because the store may never reply. */
  readonly #aborts = new Set<() => void>();
  #unwatch: (() => void) | null = null;
  #cancelPoll: (() => void) | null = null;
  #closed: PawlError | null = null;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#calls = {
      ...parts,
      result: (runId, options) => (options === undefined ? this.#result(runId) : this.#limitedResult(runId, options)),
      status: async (runId) => (await this.#existing(runId)).status,
      journal: (runId) => this.#journal(runId),
      sinceSnapshot: (runId) => this.#sinceSnapshot(runId),
      watch: (runId, options) => this.#watchRun(runId, readOptions(WATCH_OPTIONS, options)),
    };
    parts.hub.on("engine.broken", ({ error }) => {
      const broken = new PawlError("ENGINE_BROKEN", `the engine stopped: ${String(error)}`, { cause: error });
      this.close(stopsEngine(error) ? error : broken);
    });
  }

  /** Starts to receive hints and to poll, for runs that end in other processes. */
  watch(): void {
    this.#unwatch = this.#parts.store.watch((hint) => {
      this.#hasHints = true;
      const runIds = hintedRuns(hint);
      if (runIds === null) {
        this.#started.clear();
        this.#checkEnded();
      } else for (const runId of runIds) this.#checkRun(runId);
    });
    const poll = (): void => {
      const { clock, pollMs } = this.#parts;
      this.#cancelPoll = clock.wakeAt(clock.now() + pollMs, () => {
        this.#checkAll(POLL_RUNS_MAX);
        poll();
      });
    };
    poll();
  }

  /** Rejects all waiters with `why`. */
  close(why: PawlError): void {
    this.#closed ??= why;
    this.#unwatch?.();
    this.#cancelPoll?.();
    for (const [runId, waiters] of this.#waiters) {
      this.#waiters.delete(runId);
      for (const onEnd of membersOf(waiters)) onEnd(null);
    }
    for (const abort of this.#aborts) abort();
  }

  /** This process committed the end of a run, or a pause, which is null: then waiters read whether the run has paused itself. */
  ended(runId: string, end: RunEnd | null): void {
    this.#started.delete(runId);
    const waiters = this.#waiters.get(runId);
    if (waiters === undefined) return;
    this.#waiters.delete(runId);
    for (const onEnd of membersOf(waiters)) onEnd(end);
  }

  /** Call this before a start is sent, because the run may end before the reply. `startFailed` revokes it. */
  starting({ id, startId }: Pick<NewRun, "id" | "startId">): void {
    if (this.#hasHints) this.#started.set(id, startId);
    if (this.#started.size <= STARTED_MAX) return;
    for (const oldest of this.#started.keys()) {
      this.#started.delete(oldest);
      return;
    }
  }

  /** The run existed already, or it is not known whether it was started. */
  startFailed(runId: string): void {
    this.#started.delete(runId);
  }

  handle<Output>(id: string): RunHandle<Output> {
    return new Handle<Output>(id, this.#calls);
  }

  async get(runId: string): Promise<RunSummary | null> {
    this.#started.delete(runId);
    const run = await this.#read((reader) => reader.get(runId));
    return run === null ? null : this.#summary(run);
  }

  async list(given: RunQuery | undefined): Promise<Page<RunSummary>> {
    const page = await listRuns(readOptions(LIST_QUERY, given), (read) => this.#read(read));
    return { items: page.items.map((run) => this.#summary(run)), cursor: page.cursor };
  }

  /** A result of a local run needs one promise. This saves memory when many callers wait for long. */
  #result(runId: string): Promise<unknown> {
    if (!this.#parts.isLocal(runId)) return this.#readResult(runId);
    return new Promise((resolve, reject) => {
      this.#addWaiter(runId, (end) => {
        try {
          if (end !== null) resolve(this.#output(runId, end));
          else if (this.#closed === null) resolve(this.#readResult(runId));
          else reject(this.#closed);
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  async #limitedResult(runId: string, given: ResultOptions): Promise<unknown> {
    const options = readOptions(RESULT_OPTIONS, given);
    const limit = this.#limit(options, () => resultTimeout(runId, options.timeout));
    try {
      return await this.#readResult(runId, options, limit);
    } finally {
      limit.end();
    }
  }

  #limit(limits: CallLimits, createTimeoutError: () => Error): CallLimit {
    return guardArguments("signal", () => new CallLimit(this.#parts.clock, limits, createTimeoutError));
  }

  async #readResult(
    runId: string,
    { waitWhilePaused = false }: ResultOptions = NO_OPTIONS,
    limit?: CallLimit,
  ): Promise<unknown> {
    let seen: SeenStart | null = null;
    for (;;) {
      limit?.throwIfStopped();
      const localEnd = this.#nextEnd(runId, limit);
      const startId = this.#started.get(runId);
      if (startId !== undefined) seen = { startId, generation: 0 };
      const isOpen = this.#started.delete(runId) || this.#parts.isLocal(runId);
      const run: Run | null = isOpen ? null : await this.#existingUnlessStopped(runId, seen, limit);
      seen ??= run;
      const pause = run === null || waitWhilePaused ? null : pauseByItself(this.#parts.codec, run);
      if (pause !== null) throw pause;
      const end =
        run !== null && isTerminal(run.status) ? { status: run.status, outcome: run.outcome } : await localEnd;
      if (end !== null) return this.#output(runId, end);
      if (this.#closed !== null) throw this.#closed;
    }
  }

  /** Null if `close` was called, or the call's limit was reached, before the store replied. */
  #existingUnlessStopped(runId: string, seen: SeenStart | null, limit?: CallLimit): Promise<Run | null> {
    return new Promise((resolve, reject) => {
      const abort = (): void => resolve(null);
      this.#aborts.add(abort);
      const off = limit?.onStop(abort);
      void this.#existing(runId, seen)
        .then(resolve, reject)
        .finally(() => {
          this.#aborts.delete(abort);
          off?.();
        });
    });
  }

  /**
   * Resolves with the end of a local run, or with null to read whether the run has ended in another process, or because the limit was
   * reached.
   */
  #nextEnd(runId: string, limit?: CallLimit): Promise<RunEnd | null> {
    return new Promise((resolve) => {
      const onEnd: OnRunEnd = (end) => {
        off?.();
        resolve(end);
      };
      const off = limit?.onStop(() => {
        this.#removeWaiter(runId, onEnd);
        resolve(null);
      });
      this.#addWaiter(runId, onEnd);
    });
  }

  #addWaiter(runId: string, onEnd: OnRunEnd): void {
    this.#waiters.set(runId, withMember(this.#waiters.get(runId) ?? null, onEnd));
  }

  #removeWaiter(runId: string, onEnd: OnRunEnd): void {
    const left = withoutMember(this.#waiters.get(runId) ?? null, onEnd);
    if (left === null) this.#waiters.delete(runId);
    else this.#waiters.set(runId, left);
  }

  /** Any run may have ended. One read finds those that have, if the store has such a read. */
  #checkEnded(): void {
    for (const watcher of [...this.#watchers]) watcher();
    const awaited = [...this.#waiters.keys()].filter((runId) => !this.#parts.isLocal(runId));
    const { store, withRetry } = this.#parts;
    const read = store.reader.ended?.bind(store.reader);
    if (read === undefined || awaited.length === 0) {
      this.#checkAll(Number.POSITIVE_INFINITY);
      return;
    }
    void withRetry(() => read(awaited)).then(
      (ended) => {
        for (const runId of ended) this.#checkRun(runId);
      },
      // Each waiter gets the error of its own read.
      () => this.#checkAll(Number.POSITIVE_INFINITY),
    );
  }

  /** Waiters that still wait after the check move to the end of the map, so every run is checked in turn. */
  #checkAll(runsMax: number): void {
    let left = runsMax;
    for (const runId of this.#waiters.keys()) {
      if (left === 0) return;
      if (this.#checkRun(runId)) left -= 1;
    }
  }

  /** Makes the waiters of a run read it. False if the run has none or is local. */
  #checkRun(runId: string): boolean {
    this.#started.delete(runId);
    const waiters = this.#waiters.get(runId);
    if (waiters === undefined || this.#parts.isLocal(runId)) return false;
    this.#waiters.delete(runId);
    for (const onEnd of membersOf(waiters)) onEnd(null);
    return true;
  }

  #output(runId: string, end: RunEnd): unknown {
    const value = this.#parts.codec.decode(
      end.outcome,
      `the ${end.status === "completed" ? "output" : "failure"} of run ${runId}`,
    );
    if (end.status === "completed") return value;
    const cause = value === undefined ? undefined : toError(value as Failure);
    const code = end.status === "failed" ? "RUN_FAILED" : "RUN_CANCELLED";
    const how = end.status === "failed" ? "failed" : "was cancelled";
    const why = cause === undefined ? "" : `: ${cause.message}`;
    const failed = rollbackFailures(cause).map(({ step }) => step);
    const rollbacks = failed.length === 0 ? "" : `; rollbacks failed for these steps: ${failed.join(", ")}`;
    throw new PawlError(code, `run ${runId} ${how}${why}${rollbacks}`, { cause });
  }

  /** If the run has started again since the caller has seen it, this is the ended generation that the caller has seen. */
  async #existing(runId: string, seen: SeenStart | null = null): Promise<Run> {
    this.#started.delete(runId);
    const run = await this.#read((reader) => runOfStart(reader, runId, seen));
    if (run === null) throw runNotFound(runId);
    return run;
  }

  async #journal(runId: string): Promise<readonly RecordView[]> {
    const { baseSeq } = await this.#existing(runId);
    const all: RecordView[] = [];
    for (let afterSeq = baseSeq; ; ) {
      const records = await this.#read((reader) => reader.journal(runId, { afterSeq, limit: JOURNAL_PAGE }));
      all.push(...records.map((record) => this.#record(record)));
      afterSeq = records.at(-1)?.seq ?? afterSeq;
      if (records.length < JOURNAL_PAGE) return all;
    }
  }

  async #sinceSnapshot(runId: string): Promise<SinceSnapshot> {
    const { store, codec, withRetry } = this.#parts;
    const loaded = await withRetry(() => store.load(runId));
    if (loaded === null) throw runNotFound(runId);
    const records = Array.from(loaded.records, (record) => this.#record(record));
    if (loaded.snapshot === null) return { snapshot: null, records };
    const { seq, at, state } = readSnapshot(codec, loaded.snapshot);
    return { snapshot: { seq, at, state }, records };
  }

  async *#watchRun(runId: string, { after = 0, signal }: WatchOptions): AsyncGenerator<RecordView> {
    const limit = this.#limit(signal === undefined ? {} : { signal }, () => new Error("a watch has no timeout"));
    let afterSeq = after;
    let last: JournalRecord | null = null;
    let seen: SeenStart | null = null;
    try {
      for (;;) {
        limit.throwIfStopped();
        const changed = this.#nextChange(runId, limit);
        const run: Run = await this.#existing(runId, seen);
        seen ??= run;
        const records = await this.#recordsAfter(run, afterSeq, last);
        if (records === null) {
          afterSeq = await this.#seqBeforeCut(run, last?.at ?? 0);
          last = null;
          continue;
        }
        for (const record of records) {
          limit.throwIfStopped();
          last = record;
          afterSeq = record.seq;
          yield this.#record(record);
        }
        if (records.length > 0) continue;
        if (isTerminal(run.status) || this.#closed !== null) return;
        await changed;
      }
    } finally {
      limit.end();
    }
  }

  /** Returns the records after a seq. Null if the journal no longer has `last`, because an operator has cut it. */
  async #recordsAfter(
    { id, baseSeq }: Run,
    afterSeq: number,
    last: JournalRecord | null,
  ): Promise<readonly JournalRecord[] | null> {
    const isChecked = last !== null && last.seq > baseSeq;
    const query = { afterSeq: Math.max(isChecked ? last.seq - 1 : afterSeq, baseSeq), limit: JOURNAL_PAGE };
    const records = await this.#read((reader) => reader.journal(id, query));
    if (!isChecked) return records;
    const [first, ...rest] = records;
    if (first === undefined) return null;
    // A loop may have removed `last`, but not the newest record.
    if (first.seq > last.seq) return records;
    return first.at === last.at && first.location === last.location && first.kind === last.kind ? rest : null;
  }

  /** Returns the seq before the record of the operator action that cut the journal, at or after a time. */
  async #seqBeforeCut({ id, baseSeq }: Run, time: number): Promise<number> {
    for (let afterSeq = baseSeq; ; ) {
      const records = await this.#read((reader) => reader.journal(id, { afterSeq, limit: JOURNAL_PAGE }));
      const action = records.find(({ kind, at }) => kind === "operator" && at >= time);
      if (action !== undefined) return action.seq - 1;
      if (records.length < JOURNAL_PAGE) return baseSeq;
      afterSeq = records.at(-1)?.seq ?? afterSeq;
    }
  }

  /** Resolves when this process committed a record, the end or a pause of the run, or when it is time to read the run. */
  #nextChange(runId: string, limit?: CallLimit): Promise<void> {
    const { hub } = this.#parts;
    return new Promise((resolve) => {
      const onEvent = (event: { readonly runId: string }): void => {
        if (event.runId === runId) done();
      };
      const offs = [hub.on("record", onEvent), hub.on("run.paused", onEvent)];
      const done = (): void => {
        for (const off of offs) off();
        offStop?.();
        this.#watchers.delete(done);
        this.#removeWaiter(runId, done);
        resolve();
      };
      const offStop = limit?.onStop(done);
      this.#watchers.add(done);
      this.#addWaiter(runId, done);
    });
  }

  /** Reads the run at once and after each of its changes, until `isDone`. */
  async until(runId: string, isDone: (run: Run) => Promise<boolean>): Promise<Run> {
    let seen: SeenStart | null = null;
    for (;;) {
      const changed = this.#nextChange(runId);
      const run: Run = await this.#existing(runId, seen);
      seen ??= run;
      if (await isDone(run)) return run;
      if (this.#closed !== null) throw this.#closed;
      await changed;
    }
  }

  #read<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    const { store, withRetry } = this.#parts;
    return withRetry(() => read(store.reader));
  }

  #summary(run: Run): RunSummary {
    return runSummary(this.#parts.codec, run);
  }

  #record(record: JournalRecord): RecordView {
    return recordView(this.#parts.codec, record);
  }
}

function resultTimeout(runId: string, timeout: Duration | undefined): PawlError {
  const limit = durationText(parseDuration(timeout, "timeout"));
  return new PawlError("RESULT_TIMEOUT", `run ${runId} has not ended within ${limit}; it continues`);
}

export function runNotFound(id: string): PawlError {
  const ended = endedGenerationOf(id);
  const runId = ended === null ? id : `${ended.runId} in ended generation ${ended.generation}`;
  return new PawlError("RUN_NOT_FOUND", `run ${runId} not found; check the id, or whether retention has removed it`);
}

/** The codes with which a run pauses itself. */
const OWN_PAUSES: ReadonlySet<unknown> = new Set(["CODE_ERROR", "HISTORY_DIVERGED", "PAYLOAD_UNREADABLE"]);

/** Whether this reason of a pause is of the run itself, not of an operator. */
export function isOwnPause(reason: Error | null): reason is Error {
  return reason !== null && OWN_PAUSES.has((reason as { readonly code?: unknown }).code);
}

/** The error for callers that wait for a run that has paused itself. Null if the run is not paused, or an operator has paused it. */
function pauseByItself(codec: Codec, { id, status, outcome }: Run): PawlError | null {
  if (status !== "paused") return null;
  const { value, unreadable } = readingOf<Failure>(codec, outcome, `the reason of the pause of run ${id}`);
  const cause = unreadable ?? (value === undefined ? null : toError(value));
  if (!isOwnPause(cause)) return null;
  const message = cause.message.startsWith(`run ${id} `) ? cause.message : `run ${id} is paused: ${cause.message}`;
  return new PawlError("RUN_PAUSED", message, { cause });
}

/** The runs that a hint names. Null means any run: the store does not name ended runs. */
function hintedRuns({ runIds, ended }: Hint): readonly string[] | null {
  return runIds === null || ended === undefined ? null : [...runIds, ...ended];
}
