import type { Transition } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import { applyTransition } from "../../rules/apply.ts";
import { Batch } from "../../rules/batch.ts";
import { claimRuns, heartbeat, retireWorker } from "../../rules/claim.ts";
import { pruneRows } from "../../rules/prune.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
} from "../../rules/tables.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { StoreError, stopsEngine } from "../store-error.ts";
import type { SqliteDatabase } from "./driver.ts";
import { BatchRolledBack } from "./errors.ts";
import type { SqliteFile } from "./sqlite-file.ts";
import { SqliteReader } from "./sqlite-reader.ts";

/** How many times as often the store looks for commits of other processes while it finds some. */
const BUSY_POLLS = 5;

const EMPTY_COMMIT: Commit = { answers: [], wakes: [] };

/** A store over one database file, which several processes may share. The driver is synchronous, so each method works synchronously. */
export class SqliteStore implements Store {
  /** All processes run on one host and share its clock. */
  readonly exactClock = true;
  readonly transactions = "batched";
  readonly reader: Reader;
  readonly #file: SqliteFile;
  readonly #pollMs: number;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #world: StoreWorld | null = null;
  #stopPolling: (() => void) | null = null;

  constructor(file: SqliteFile, pollMs: number) {
    this.#file = file;
    this.#pollMs = pollMs;
    this.reader = new SqliteReader(file);
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
    await this.#file.open();
  }

  /**
   * Opens a connection to the store's file for tables of your own, and for the `tx` option. It uses the SQLite library of the store, so
   * that its transactions and the store's exclude each other. Close it when you are done.
   */
  database(): Promise<SqliteDatabase> {
    return this.#file.connect();
  }

  now(): number {
    if (this.#world === null) throw new Error("the store is not open");
    return this.#world.now();
  }

  async commit(transitions: readonly Transition[]): Promise<Commit> {
    if (transitions.length === 0) return EMPTY_COMMIT;
    try {
      return this.#apply(transitions);
    } catch (error) {
      if (error instanceof BatchRolledBack) return this.#applyApart(transitions);
      throw error;
    }
  }

  async commitWithin(tx: unknown, transitions: readonly Transition[]): Promise<Commit> {
    const now = this.now();
    return this.#file.within(tx, (tables) => applyAll(new Batch(tables, now), transitions));
  }

  #apply(transitions: readonly Transition[]): Commit {
    return this.#write((batch) => applyAll(batch, transitions));
  }

  /** User code made the batch roll back. Each transition with code is committed alone, so that it affects only itself. */
  #applyApart(transitions: readonly Transition[]): Commit {
    const commits = partsOf(transitions).map((part): Commit => {
      try {
        return this.#apply(part);
      } catch (error) {
        if (!(error instanceof BatchRolledBack) || !part.every(hasCode)) throw error;
        return { answers: [{ kind: "refused", reason: "threw", error: error.cause }], wakes: [] };
      }
    });
    return { answers: commits.flatMap(({ answers }) => answers), wakes: commits.flatMap(({ wakes }) => wakes) };
  }

  /** Reads first: if nothing is due, there is no write transaction that blocks other processes. */
  async claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    const query = { workflows: request.workflows, now: this.now(), newestFirst: false };
    const found = this.#file.readOne((tables) => tables.runs.claimable({ ...query, limit: 1 }));
    return found.length === 0 ? [] : this.#write((batch) => claimRuns(batch, request));
  }

  async dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    return this.#file.read((tables) => tables.runs.due(worker, this.now(), limit));
  }

  async ownedRunning(worker: string): Promise<readonly OwnedRun[]> {
    return this.#file.readOne((tables) => tables.runs.ownedRunning(worker));
  }

  async nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    return this.#file.read((tables) => tables.runs.nextDueAt(worker, workflows));
  }

  async load(runId: string, afterSeq?: number, afterEntry = 0): Promise<Loaded | null> {
    return this.#file.read((tables) => {
      const head = tables.runs.head(runId);
      const run = tables.runs.get(runId);
      if (head === null || run === null) return null;
      const snapshot = tables.documents.get("snapshot", runId);
      const after = afterSeq ?? Number(snapshot?.attributes.a ?? run.baseSeq);
      const journal = tables.pages.after(head.key, after, null);
      return {
        run,
        snapshot,
        ...journal,
        inbox: head.inboxLast <= afterEntry ? [] : tables.inbox.openAfter(head, afterEntry),
      };
    });
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed?: readonly LapsedRun[],
  ): Promise<Heartbeat> {
    const now = this.now();
    return this.#file.write((tables) => ({
      ...heartbeat(new Batch(tables, now), { worker, leaseMs, workflows, lapsed }),
      owned: tables.runs.ownedRunning(worker),
      nextDueAt: tables.runs.nextDueAt(worker, workflows ?? []),
      nextExpiryAt: tables.workers.nextExpiryAt(worker),
    }));
  }

  async retire(worker: string): Promise<void> {
    this.#write((batch) => retireWorker(batch, worker));
  }

  async prune(request: PruneRequest): Promise<Pruned> {
    return this.#write((batch) => pruneRows(batch, request));
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    this.#stopPolling ??= this.#poll();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#endPolling();
    };
  }

  async close(): Promise<void> {
    this.#endPolling();
    this.#listeners.clear();
    this.#file.close();
  }

  #write<Result>(work: (batch: Batch) => Result): Result {
    const now = this.now();
    return this.#file.write((tables) => work(new Batch(tables, now)));
  }

  /**
   * A commit of another process changes this connection's `data_version`; its own commits do not. If the store must not be used any more,
   * the listeners are called too, so that their next call receives the error.
   */
  #poll(): () => void {
    const world = this.#world;
    if (world === null) throw new Error("the store is not open");
    let version: number | null = null;
    let quietPolls = BUSY_POLLS;
    let stop = (): void => undefined;
    const lookEvery = (ms: number): void => {
      stop();
      stop = world.every(ms, look);
    };
    const look = (): void => {
      const seen = this.#dataVersion();
      if (seen === null) return;
      if (seen === version) {
        quietPolls += 1;
        if (quietPolls === BUSY_POLLS) lookEvery(this.#pollMs);
        return;
      }
      if (quietPolls >= BUSY_POLLS && version !== null) lookEvery(Math.max(1, Math.floor(this.#pollMs / BUSY_POLLS)));
      if (version !== null) quietPolls = 0;
      if (seen === "stopped") this.#stopPolling?.();
      else version = seen;
      for (const listener of [...this.#listeners]) listener({ runIds: null });
    };
    lookEvery(this.#pollMs);
    return () => stop();
  }

  /** Null if the query fails; the next poll retries. */
  #dataVersion(): number | "stopped" | null {
    try {
      return this.#file.dataVersion();
    } catch (error) {
      if (stopsEngine(error)) return "stopped";
      if (error instanceof StoreError) return null;
      throw error;
    }
  }

  #endPolling(): void {
    this.#stopPolling?.();
    this.#stopPolling = null;
  }
}

/** Splits the batch, in order, so that each transition with code is alone. */
function partsOf(transitions: readonly Transition[]): readonly (readonly Transition[])[] {
  const parts: Transition[][] = [];
  let last: Transition[] | null = null;
  for (const transition of transitions) {
    const isCode = hasCode(transition);
    if (isCode || last === null) {
      last = [];
      parts.push(last);
    }
    last.push(transition);
    if (isCode) last = null;
  }
  return parts;
}

function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

function applyAll(batch: Batch, transitions: readonly Transition[]): Commit {
  const answers = transitions.map((transition) => applyTransition(batch, transition));
  return { answers, wakes: batch.wakes };
}
