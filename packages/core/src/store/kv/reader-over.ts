import type { Reader } from "../store.ts";

/** A reader each of whose calls is made by `through`. */
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
