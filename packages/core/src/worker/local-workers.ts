import type { StoredDocument } from "../model/transition.ts";
import type { Log } from "../runtime/log.ts";
import type { Processes, ProcessIdentity } from "../runtime/processes.ts";
import type { Store } from "../store/store.ts";

/** The kind of the documents that name the processes of workers. Their id is the worker's. */
export const WORKER_DOCUMENT = "pawl worker";

const TEXT = "a worker process has ended without a shutdown; its runs are taken over";
/** Documents that one start reads. */
const DOCUMENTS_MAX = 1_000;

export interface LocalWorkersParts {
  readonly store: Pick<Store, "commit" | "reader" | "retire" | "now">;
  readonly worker: string;
  /** Null if the platform does not tell which process this is. */
  readonly processes: Processes | null;
  readonly log: Log;
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
  readonly stopped: () => boolean;
}

/**
 * Frees the runs of workers whose process has ended on this host, so that a restart after a crash need not wait for their leases.
 *
 * 1. A worker is freed only if its process has certainly ended: same host, same boot, same namespace of process ids, and its id is free or
 *    belongs to a process that started at another time.
 * 2. A worker that is freed by mistake is fenced like one whose lease expired.
 */
export class LocalWorkers {
  readonly #parts: LocalWorkersParts;
  #isStored = false;

  constructor(parts: LocalWorkersParts) {
    this.#parts = parts;
  }

  /** Call this after the first heartbeat: a document without a worker is deleted. True if runs may have been freed. */
  async start(): Promise<boolean> {
    const { store, worker, processes, withRetry } = this.#parts;
    if (processes === null || this.#isStored) return false;
    const document = documentOf(worker, processes.self);
    await withRetry(() => store.commit([{ kind: "documents", documents: [{ put: document }] }]));
    this.#isStored = true;
    return await this.#freeEnded(processes);
  }

  /** Deletes the document of this worker. */
  async retire(): Promise<void> {
    if (!this.#isStored) return;
    this.#isStored = false;
    await this.#remove(this.#parts.worker);
  }

  async #freeEnded(processes: Processes): Promise<boolean> {
    const { store, worker, log, withRetry, stopped } = this.#parts;
    const query = { kind: WORKER_DOCUMENT, limit: DOCUMENTS_MAX };
    const { items } = await withRetry(() => store.reader.documents(query));
    const live = new Map((await withRetry(() => store.reader.workers())).map((row) => [row.id, row.expiresAt]));
    let hasFreed = false;
    for (const document of items) {
      const { id } = document;
      if (id === worker) continue;
      if (stopped()) break;
      const expiresAt = live.get(id);
      const other = identityOf(document);
      if (expiresAt !== undefined && (other === null || !processes.hasEnded(other))) continue;
      if (expiresAt !== undefined) {
        await withRetry(() => store.retire(id));
        log("warn", TEXT, { worker: id, pid: other?.pid, leftMs: Math.max(0, expiresAt - store.now()) });
        hasFreed = true;
      }
      await this.#remove(id);
    }
    return hasFreed;
  }

  async #remove(id: string): Promise<void> {
    const { store, withRetry } = this.#parts;
    const remove = { kind: WORKER_DOCUMENT, id };
    await withRetry(() => store.commit([{ kind: "documents", documents: [{ remove }] }]));
  }
}

/** The attributes are not encoded, so an engine with any codec can read them. */
function documentOf(worker: string, { host, pid, startedAt }: ProcessIdentity): StoredDocument {
  const attributes = { a: host, b: String(pid), ...(startedAt === "" ? {} : { c: startedAt }) };
  return { kind: WORKER_DOCUMENT, id: worker, runId: null, body: null, attributes };
}

function identityOf({ attributes: { a: host, b: pid, c: startedAt = "" } }: StoredDocument): ProcessIdentity | null {
  return host === undefined || pid === undefined ? null : { host, pid: Number(pid), startedAt };
}
