import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { rollbackFailures } from "../model/rollback-failure.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { membersOf, type SmallSet, withMember } from "../runner/small-set.ts";
import { readSnapshot } from "../runner/snapshot.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Hint, ListQuery, Page, Reader, Store } from "../store/store.ts";
import type { EventHub, RunEnd } from "./events.ts";
import {
  Handle,
  type RecordView,
  type RunCalls,
  type RunHandle,
  type RunSummary,
  recordView,
  runSummary,
  type SinceSnapshot,
} from "./run-handle.ts";

/** What handles are asked for and others do. */
type Controls = Pick<RunCalls, "send" | "cancel" | "pause" | "resume" | "rewind" | "retry">;

export interface RunsParts extends Controls {
  readonly store: Store;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly hub: EventHub;
  /** Whether this process hears of the run's end by itself. */
  readonly isLocal: (runId: string) => boolean;
  /** Makes a call until it reaches the store. */
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Told of a run's end, or with null that it is time to look whether it ended elsewhere. */
type OnRunEnd = (end: RunEnd | null) => void;

/** How many runs are looked at in a poll, for which there was no hint: so many reads keep the loop busy for a few ms. */
const POLL_LOOK_MAX = 100;
const PAGE_MAX = 1_000;
const JOURNAL_PAGE = 500;

/** Runs as callers see them: handles, reads, and waiting for ends wherever they happen. */
export class Runs {
  readonly #parts: RunsParts;
  readonly #calls: RunCalls;
  readonly #waiting = new Map<string, SmallSet<OnRunEnd>>();
  /** Ends the looks that are under way, when it is closed. */
  readonly #checks = new Set<() => void>();
  #unwatch: (() => void) | null = null;
  #cancelPoll: (() => void) | null = null;
  #closed: PawlError | null = null;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#calls = {
      ...parts,
      result: (runId) => this.#result(runId),
      status: async (runId) => (await this.#existing(runId)).status,
      journal: (runId) => this.#journal(runId),
      sinceSnapshot: (runId) => this.#sinceSnapshot(runId),
      watch: (runId) => this.#watchRun(runId),
    };
    parts.hub.on("engine.broken", ({ error }) => {
      this.close(new PawlError("ENGINE_BROKEN", `the engine has stopped: ${String(error)}`, { cause: error }));
    });
  }

  /** Begins to hear of what other processes do. */
  watch(): void {
    this.#unwatch = this.#parts.store.watch((hint) => {
      const runIds = concerned(hint);
      if (runIds === null) this.#checkAll(Number.POSITIVE_INFINITY);
      else for (const runId of runIds) this.#checkRun(runId);
    });
    const poll = (): void => {
      const { clock, pollMs } = this.#parts;
      this.#cancelPoll = clock.wakeAt(clock.now() + pollMs, () => {
        this.#checkAll(POLL_LOOK_MAX);
        poll();
      });
    };
    poll();
  }

  /** Those who wait for an end are told why it won't be heard of here. */
  close(why: PawlError): void {
    this.#closed ??= why;
    this.#unwatch?.();
    this.#cancelPoll?.();
    for (const [runId, waiting] of this.#waiting) {
      this.#waiting.delete(runId);
      for (const hear of membersOf(waiting)) hear(null);
    }
    for (const giveUp of this.#checks) giveUp();
  }

  /** A run has ended by this process's hand. */
  ended(runId: string, end: RunEnd): void {
    const waiting = this.#waiting.get(runId);
    if (waiting === undefined) return;
    this.#waiting.delete(runId);
    for (const hear of membersOf(waiting)) hear(end);
  }

  handle<Output>(id: string): RunHandle<Output> {
    return new Handle<Output>(id, this.#calls);
  }

  async get(runId: string): Promise<RunSummary | null> {
    const run = await this.#read((reader) => reader.get(runId));
    return run === null ? null : this.#summary(run);
  }

  async list(query: Partial<ListQuery>): Promise<Page<RunSummary>> {
    const limit = query.limit ?? 100;
    if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
      throw new PawlError("OPTION_INVALID", `limit is ${limit}; it has to be a whole number from 1 to ${PAGE_MAX}`);
    }
    const page = await this.#read((reader) => reader.list({ ...query, limit }));
    return { items: page.items.map((run) => this.#summary(run)), cursor: page.cursor };
  }

  /** Of a run that ends here, as most do, in one promise: many wait for long. */
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

  async #readResult(runId: string): Promise<unknown> {
    for (;;) {
      const heard = this.#nextEnd(runId);
      const run = this.#parts.isLocal(runId) ? null : await this.#existingUnlessClosed(runId);
      const end = run !== null && isTerminal(run.status) ? { status: run.status, outcome: run.outcome } : await heard;
      if (end !== null) return this.#output(runId, end);
      if (this.#closed !== null) throw this.#closed;
    }
  }

  /** Null: it was closed before the store has answered, which it may never do. */
  #existingUnlessClosed(runId: string): Promise<Run | null> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => resolve(null);
      this.#checks.add(giveUp);
      void this.#existing(runId)
        .then(resolve, reject)
        .finally(() => this.#checks.delete(giveUp));
    });
  }

  /** Resolves when the run ends by this process's hand; with null when it is time to look whether it ended elsewhere. */
  #nextEnd(runId: string): Promise<RunEnd | null> {
    return new Promise((resolve) => this.#addWaiter(runId, resolve));
  }

  #addWaiter(runId: string, hear: OnRunEnd): void {
    this.#waiting.set(runId, withMember(this.#waiting.get(runId) ?? null, hear));
  }

  /** Those who are told wait behind the others from then on, so each has its turn. */
  #checkAll(runsMax: number): void {
    let left = runsMax;
    for (const runId of this.#waiting.keys()) {
      if (left === 0) return;
      if (this.#checkRun(runId)) left -= 1;
    }
  }

  /** True: those who wait for the run's end look whether it ended elsewhere. */
  #checkRun(runId: string): boolean {
    const waiting = this.#waiting.get(runId);
    if (waiting === undefined || this.#parts.isLocal(runId)) return false;
    this.#waiting.delete(runId);
    for (const hear of membersOf(waiting)) hear(null);
    return true;
  }

  #output(runId: string, end: RunEnd): unknown {
    const value = this.#parts.codec.decode(end.outcome);
    if (end.status === "completed") return value;
    const cause = value === undefined ? undefined : toError(value as Failure);
    const code = end.status === "failed" ? "RUN_FAILED" : "RUN_CANCELLED";
    const how = end.status === "failed" ? "failed" : "was cancelled";
    const why = cause === undefined ? "" : `: ${cause.message}`;
    const failed = rollbackFailures(cause).map(({ step }) => step);
    const left = failed.length === 0 ? "" : `; what these steps did could not be undone: ${failed.join(", ")}`;
    throw new PawlError(code, `run ${runId} ${how}${why}${left}`, { cause });
  }

  async #existing(runId: string): Promise<Run> {
    const run = await this.#read((reader) => reader.get(runId));
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
    const { store, codec, withRetry: reaching } = this.#parts;
    const loaded = await reaching(() => store.load(runId));
    if (loaded === null) throw runNotFound(runId);
    const records = Array.from(loaded.records, (record) => this.#record(record));
    if (loaded.snapshot === null) return { snapshot: null, records };
    const { seq, at, state } = readSnapshot(codec, loaded.snapshot);
    return { snapshot: { seq, at, state }, records };
  }

  async *#watchRun(runId: string): AsyncGenerator<RecordView> {
    let afterSeq = 0;
    for (;;) {
      const changed = this.#nextChange(runId);
      const run = await this.#existing(runId);
      const query = { afterSeq: Math.max(afterSeq, run.baseSeq), limit: JOURNAL_PAGE };
      const records = await this.#read((reader) => reader.journal(runId, query));
      for (const record of records) {
        afterSeq = record.seq;
        yield this.#record(record);
      }
      if (records.length > 0) continue;
      if (isTerminal(run.status) || this.#closed !== null) return;
      await changed;
    }
  }

  /** Resolves when the run has a new record or an end by this process's hand, or when it is time to look elsewhere. */
  #nextChange(runId: string): Promise<void> {
    return new Promise((resolve) => {
      const off = this.#parts.hub.on("record", (event) => {
        if (event.runId === runId) done();
      });
      const done = (): void => {
        off();
        resolve();
      };
      void this.#nextEnd(runId).then(done);
    });
  }

  #read<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    const { store, withRetry: reaching } = this.#parts;
    return reaching(() => read(store.reader));
  }

  #summary(run: Run): RunSummary {
    return runSummary(this.#parts.codec, run);
  }

  #record(record: JournalRecord): RecordView {
    return recordView(this.#parts.codec, record);
  }
}

export function runNotFound(runId: string): PawlError {
  return new PawlError("RUN_NOT_FOUND", `there is no run ${runId}; check the id, or whether retention has removed it`);
}

/** The runs that a hint is about; null: all, where the store does not say which have ended. */
function concerned({ runIds, ended }: Hint): readonly string[] | null {
  return runIds === null || ended === undefined ? null : [...runIds, ...ended];
}
