import type { InboxEntry } from "../../model/inbox.ts";
import type { StoredDocument } from "../../model/transition.ts";
import type { AwaitedPosts, EventRow, LetterRow, RunHead } from "../../rules/tables.ts";

/** A run as it was seen, in the state that `rev` names. */
export interface KnownRun {
  readonly rev: number;
  readonly head: RunHead;
  readonly wait: AwaitedPosts | null;
  /** The newest seq of its journal. */
  readonly newest: number;
  /** Its inbox. Null if it was not read. */
  readonly inbox: readonly InboxEntry[] | null;
  /** Only the next commit of this process can add to its journal while the row has this `rev` (`CommitWriter.3`). */
  readonly firm: boolean;
}

/** A topic as it was seen: its longest waiters and its oldest events, up to the requested number. */
export interface KnownTopic {
  /** 0 if the topic has no row, and so no waiter and no pending event. */
  readonly rev: number;
  readonly pending: number;
  /** Ids of runs. */
  readonly waiters: readonly string[];
  /** Oldest first, of both kinds. */
  readonly events: readonly EventRow[];
  readonly depth: number;
}

/** Runs that are cached from one commit to the next. */
export interface RunCache {
  get(runId: string): KnownRun | undefined;
}

/** Keys of rows that a decision needs and that are not known yet. */
export class RowsToRead {
  readonly runs = new Set<string>();
  readonly inboxes = new Set<string>();
  /** Ids of inbox entries, by `pairKey`. */
  readonly known = new Map<string, { readonly runId: string; readonly kind: string; readonly id: string }>();
  /** With the number of waiters and events to be read. */
  readonly topics = new Map<string, number>();
  readonly events = new Set<string>();
  readonly children = new Set<string>();
  readonly letters = new Set<string>();
  /** By `pairKey`. */
  readonly documents = new Map<string, { readonly kind: string; readonly id: string }>();
  readonly seen = new Map<string, { readonly runId: string; readonly topic: string }>();
  /** The newest record of a run up to a seq. */
  readonly floors = new Map<string, { readonly runId: string; readonly seq: number }>();

  get size(): number {
    const { runs, inboxes, known, topics, events, children, letters, documents, seen, floors } = this;
    const parts = [runs, inboxes, known, topics, events, children, letters, documents, seen, floors];
    return parts.reduce((sum, { size }) => sum + size, 0);
  }

  /** Adds the keys of another one. */
  add(other: RowsToRead): void {
    for (const key of other.runs) this.runs.add(key);
    for (const key of other.inboxes) this.inboxes.add(key);
    for (const [key, value] of other.known) this.known.set(key, value);
    for (const [key, depth] of other.topics) this.topics.set(key, Math.max(depth, this.topics.get(key) ?? 0));
    for (const key of other.events) this.events.add(key);
    for (const key of other.children) this.children.add(key);
    for (const key of other.letters) this.letters.add(key);
    for (const [key, value] of other.documents) this.documents.set(key, value);
    for (const [key, value] of other.seen) this.seen.set(key, value);
    for (const [key, value] of other.floors) this.floors.set(key, value);
  }
}

/** The known rows. Null means that the row does not exist; a missing key means that it was not read. */
export class KnownRows {
  readonly #cache: RunCache | null;
  readonly runs = new Map<string, KnownRun | null>();
  readonly inboxes = new Map<string, readonly InboxEntry[]>();
  readonly known = new Map<string, boolean>();
  readonly topics = new Map<string, KnownTopic>();
  readonly events = new Map<string, EventRow | null>();
  readonly children = new Map<string, readonly string[]>();
  readonly letters = new Map<string, LetterRow | null>();
  readonly documents = new Map<string, StoredDocument | null>();
  readonly seen = new Map<string, number>();
  readonly floors = new Map<string, number>();
  /** When the rows were read, on the store's clock. Null if none was. */
  now: number | null = null;

  constructor(cache: RunCache | null) {
    this.#cache = cache;
  }

  run(runId: string): KnownRun | null | undefined {
    const known = this.runs.get(runId);
    return known === undefined ? this.#cache?.get(runId) : known;
  }

  /** Whether `run` returns a cached row, which may be stale. */
  isRemembered(runId: string): boolean {
    return !this.runs.has(runId);
  }
}

/** A unique key for several texts: each is preceded by its length. */
export function pairKey(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join("");
}

/** Thrown when rows must be read before a decision. The stage's `wanted` has their keys. */
export class RowsMissing extends Error {
  override readonly name = "RowsMissing";
}
