import type { Transition } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import type { ClaimedRun, ClaimRequest, Heartbeat, LapsedRun, Pruned, PruneRequest } from "../../rules/tables.ts";
import { ProcessStore } from "../memory/memory-store.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld, WorkerRow } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { Alarm } from "./alarm.ts";
import type { KvDriver, KvWrite } from "./kv-driver.ts";
import { loadRows } from "./load-rows.ts";
import type { RecordedRows } from "./recorded-rows.ts";
import { RecordingTables } from "./recording-tables.ts";

/** The rows in memory, and the store over them. */
interface LoadedRows {
  readonly rows: RecordedRows;
  readonly store: ProcessStore;
}

/**
 * Stores a run, and the runs that it starts, in one namespace of a key-value host.
 *
 * 1. The rows are in memory while the store is open. Each commit is one atomic batch of the changed rows, and is answered when the batch
 *    is durable.
 * 2. Calls run one after another, so no call sees changes that are not durable.
 * 3. When a batch fails, its effect is unknown. All rows are loaded again before the next call.
 * 4. The alarm is never later than the time at which the namespace must be opened again. An earlier alarm is set before the batch that
 *    requires it, a later one after it.
 */
export class KvStore implements Store {
  readonly exactClock = true;
  readonly transactions = "batched";
  readonly reader: Reader;
  readonly #driver: KvDriver;
  readonly #alarm: Alarm;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #world: StoreWorld | null = null;
  #loaded: LoadedRows | null = null;
  #workers: ReadonlyMap<string, WorkerRow> = new Map();
  #onWritten: () => void = () => undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(driver: KvDriver, runId: string) {
    this.#driver = driver;
    this.#alarm = new Alarm(driver, runId);
    this.reader = readerOver((read) => this.#enqueue(async () => await read((await this.#rows()).store.reader)));
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
    await this.#enqueue(() => this.#rows());
  }

  now(): number {
    if (this.#world === null) throw new Error("the store is not open");
    return this.#world.now();
  }

  /** The values that transactions have stored. */
  async data(): Promise<ReadonlyMap<string, unknown>> {
    return await this.#enqueue(async () => (await this.#rows()).store.data);
  }

  /** Whether no run has work until a time passes or a post arrives. Runs of workflows for which `knows` is false are ignored. */
  async isIdle(knows: (workflow: WorkflowRef) => boolean): Promise<boolean> {
    return await this.#enqueue(async () => {
      const { memory } = (await this.#rows()).rows;
      if (this.#alarm.isWorking) return false;
      const now = this.now();
      return [...memory.memoryRuns.values()].every(({ head }) => {
        if (head.wakeAt === null || head.wakeAt > now) return true;
        return head.owner === null && !knows({ name: head.workflow, version: head.version });
      });
    });
  }

  /** The time at which the namespace must be opened again, if no worker is executing a run. Null if there is none. */
  async nextWakeAt(): Promise<number | null> {
    return await this.#enqueue(async () => {
      await this.#rows();
      return this.#alarm.at(this.now());
    });
  }

  /** Calls `listener` after each write. Replaces the previous listener. */
  onWritten(listener: () => void): void {
    this.#onWritten = listener;
  }

  /** Discards the rows in memory; the next call loads them. Worker rows are kept, because workers live in this process. */
  async forget(): Promise<void> {
    await this.#enqueue(async () => {
      this.#loaded = null;
    });
  }

  commit(batch: readonly Transition[]): Promise<Commit> {
    return this.#write((store) => store.commit(batch));
  }

  claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    return this.#write((store) => store.claim(request));
  }

  dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    return this.#read((store) => store.dueRuns(worker, limit));
  }

  ownedRunning(worker: string): Promise<ReadonlyArray<{ readonly id: string; readonly epoch: number }>> {
    return this.#read((store) => store.ownedRunning(worker));
  }

  nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    return this.#read((store) => store.nextDueAt(worker, workflows));
  }

  load(runId: string, afterSeq?: number, afterEntry?: number): Promise<Loaded | null> {
    return this.#read((store) => store.load(runId, afterSeq, afterEntry));
  }

  heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed?: readonly LapsedRun[],
  ): Promise<Heartbeat> {
    this.#alarm.leaseMs = leaseMs;
    return this.#write((store) => store.heartbeat(worker, leaseMs, workflows, lapsed));
  }

  retire(worker: string): Promise<void> {
    return this.#write((store) => store.retire(worker));
  }

  prune(request: PruneRequest): Promise<Pruned> {
    return this.#write((store) => store.prune(request));
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#queue;
    this.#listeners.clear();
  }

  #read<T>(call: (store: ProcessStore) => Promise<T>): Promise<T> {
    return this.#enqueue(async () => await call((await this.#rows()).store));
  }

  #write<T>(call: (store: ProcessStore) => Promise<T>): Promise<T> {
    return this.#enqueue(async () => {
      const { store, rows } = await this.#rows();
      try {
        const answer = await call(store);
        await this.#flush(rows.changes.take());
        this.#onWritten();
        return answer;
      } catch (error) {
        this.#loaded = null;
        throw error;
      }
    });
  }

  async #flush(writes: readonly KvWrite[]): Promise<void> {
    try {
      await this.#alarm.beforeWrite(this.now());
      if (writes.length > 0) await this.#driver.batch(writes);
      await this.#alarm.afterWrite(this.now());
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Runs calls one after another, even if one fails. */
  #enqueue<T>(call: () => Promise<T>): Promise<T> {
    const answer = this.#queue.then(call);
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  async #rows(): Promise<LoadedRows> {
    if (this.#loaded !== null) return this.#loaded;
    this.#alarm.forget();
    const rows = await loadRows(this.#driver, (runId, head) => this.#alarm.update(runId, head)).catch(
      (error: unknown) => {
        throw unavailable(error);
      },
    );
    for (const [id, row] of this.#workers) rows.memory.workers.rows.set(id, row);
    this.#workers = rows.memory.workers.rows;
    expireUnknownOwners(rows);
    const store = new ProcessStore(rows.memory, new RecordingTables(rows));
    await store.open({ now: () => this.now(), every: () => () => undefined });
    store.watch((hint) => {
      for (const listener of this.#listeners) listener(hint);
    });
    this.#loaded = { rows, store };
    return this.#loaded;
  }
}

/** Workers live in the process that has the namespace. So an owner without a row in memory belongs to a process that died. */
function expireUnknownOwners({ memory }: RecordedRows): void {
  for (const { head } of memory.memoryRuns.values()) {
    if (head.owner !== null && memory.workers.expiresAt(head.owner) === null) memory.workers.save(head.owner, 0);
  }
}

/** An error of the driver does not reveal whether the write took effect. */
function unavailable(error: unknown): StoreError {
  const why = error instanceof Error ? error.message : String(error);
  return new StoreError("STORE_UNAVAILABLE", "unknown", `the key-value driver failed: ${why}`, { cause: error });
}

/** Returns a reader that passes each call to `through`. */
export function readerOver(through: <T>(read: (reader: Reader) => Promise<T>) => Promise<T>): Reader {
  return {
    get: (runId) => through((reader) => reader.get(runId)),
    list: (query) => through((reader) => reader.list(query)),
    count: (query) => through((reader) => reader.count(query)),
    journal: (runId, query) => through((reader) => reader.journal(runId, query)),
    inbox: (runId) => through((reader) => reader.inbox(runId)),
    children: (runId, query) => through((reader) => reader.children(runId, query)),
    deadLetters: (query) => through((reader) => reader.deadLetters(query)),
    deadLetter: (id) => through((reader) => reader.deadLetter(id)),
    documents: (query) => through((reader) => reader.documents(query)),
    document: (kind, id) => through((reader) => reader.document(kind, id)),
    workers: () => through((reader) => reader.workers()),
  };
}
