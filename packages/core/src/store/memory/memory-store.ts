import { PawlError } from "../../model/errors.ts";
import { endedBy, type Transition } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import { applyTransition } from "../../rules/apply.ts";
import { Batch } from "../../rules/batch.ts";
import { claimRuns, heartbeat, retireWorker } from "../../rules/claim.ts";
import { pruneRows } from "../../rules/prune.ts";
import { isWorking } from "../../rules/run-head.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
  Tables,
} from "../../rules/tables.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { MemoryReader } from "./memory-reader.ts";
import { MemoryTables } from "./memory-tables.ts";

/** Stores everything in the memory of this process. For tests, and for work that may be lost with the process. */
export function memoryStore(): MemoryStore {
  return new ProcessStore(new MemoryTables());
}

/** A store in memory. `data` contains the values that transactions have stored. */
export interface MemoryStore extends Store {
  readonly data: ReadonlyMap<string, unknown>;
}

/** Each method completes synchronously, so a commit is atomic. Data lives as long as the process. */
export class ProcessStore implements MemoryStore {
  readonly #tables: MemoryTables;
  /** The tables that changes are applied to. */
  readonly #writable: Tables;
  readonly #listeners = new Set<(hint: Hint) => void>();
  readonly reader: Reader;
  readonly data: ReadonlyMap<string, unknown>;
  readonly exactClock = true;
  readonly transactions = "batched";
  /** A commit has almost no fixed cost, so few active runs keep the store busy. */
  readonly busyMax = 128;
  #world: StoreWorld | null = null;

  constructor(tables: MemoryTables, writable: Tables = tables) {
    this.#tables = tables;
    this.#writable = writable;
    this.reader = new MemoryReader(tables);
    this.data = tables.data;
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
  }

  now(): number {
    if (this.#world === null)
      throw new PawlError(
        "STORE_UNAVAILABLE",
        "the memory store is not open; create an engine on it, or omit keepOpen",
      );
    return this.#world.now();
  }

  async commit(transitions: readonly Transition[]): Promise<Commit> {
    const batch = this.#batch();
    const answers = transitions.map((transition) => applyTransition(batch, transition));
    this.#notifyListeners(transitions, batch);
    return { answers, wakes: batch.wakes };
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    return claimRuns(this.#batch(), request);
  }

  async dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    return this.#tables.runs.queues
      .due(worker, this.now(), limit)
      .map((memoryRun) => ({ id: memoryRun.head.id, inboxLast: memoryRun.head.inboxLast }));
  }

  async ownedRunning(worker: string): Promise<readonly OwnedRun[]> {
    return this.#ownedRunning(worker);
  }

  #ownedRunning(worker: string): readonly OwnedRun[] {
    const owned = this.#tables.runs.ownedBy(worker, Number.POSITIVE_INFINITY);
    return owned.filter((head) => isWorking(this.#tables, head)).map(({ id, epoch }) => ({ id, epoch }));
  }

  async nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    return this.#tables.runs.queues.nextAt(worker, workflows);
  }

  async load(runId: string, afterSeq?: number, afterEntry?: number): Promise<Loaded | null> {
    const run = this.#tables.runs.get(runId);
    const memoryRun = this.#tables.memoryRuns.get(runId);
    if (run === null || memoryRun === undefined) return null;
    const snapshot = this.#tables.documents.get("snapshot", runId);
    const after = afterSeq ?? Number(snapshot?.attributes.a ?? run.baseSeq);
    return { run, snapshot, records: memoryRun.journal.after(after), inbox: memoryRun.entriesAfter(afterEntry ?? 0) };
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed?: readonly LapsedRun[],
  ): Promise<Heartbeat> {
    return {
      ...heartbeat(this.#batch(), { worker, leaseMs, workflows, lapsed }),
      owned: this.#ownedRunning(worker),
      nextDueAt: this.#tables.runs.queues.nextAt(worker, workflows ?? []),
      nextExpiryAt: this.#tables.workers.nextExpiryAt(worker),
    };
  }

  async retire(worker: string): Promise<void> {
    retireWorker(this.#batch(), worker);
  }

  async prune(request: PruneRequest): Promise<Pruned> {
    return pruneRows(this.#batch(), request);
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  #batch(): Batch {
    return new Batch(this.#writable, this.now());
  }

  /** Notifies listeners: several engines may share one memory store. */
  #notifyListeners(transitions: readonly Transition[], batch: Batch): void {
    if (this.#listeners.size === 0) return;
    const runIds = batch.wakes.map((wake) => wake.runId);
    const ended: string[] = [];
    for (const transition of transitions) {
      const endedId = endedBy(transition);
      if (endedId !== null) ended.push(endedId);
      else if (transition.kind === "create") runIds.push(transition.run.id);
      else if (transition.kind === "control") runIds.push(transition.runId);
      else if (transition.kind === "append" && transition.state !== null) runIds.push(transition.runId);
    }
    if (runIds.length + ended.length === 0) return;
    const hint: Hint = { runIds, ended };
    for (const listener of this.#listeners) queueMicrotask(() => listener(hint));
  }
}
