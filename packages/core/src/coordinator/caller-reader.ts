import type { Reader } from "../store/store.ts";

/** A reader for callers of the engine. Each of its reads is retried, and rejects with STORE_UNAVAILABLE, by `withRetry`. */
export function callerReader(reader: Reader, withRetry: <T>(call: () => Promise<T>) => Promise<T>): Reader {
  return {
    get: (runId) => withRetry(() => reader.get(runId)),
    list: (query) => withRetry(() => reader.list(query)),
    count: (query) => withRetry(() => reader.count(query)),
    journal: (runId, query) => withRetry(() => reader.journal(runId, query)),
    inbox: (runId) => withRetry(() => reader.inbox(runId)),
    children: (runId, query) => withRetry(() => reader.children(runId, query)),
    deadLetters: (query) => withRetry(() => reader.deadLetters(query)),
    deadLetter: (id) => withRetry(() => reader.deadLetter(id)),
    documents: (query) => withRetry(() => reader.documents(query)),
    document: (kind, id) => withRetry(() => reader.document(kind, id)),
    workers: () => withRetry(() => reader.workers()),
  };
}
