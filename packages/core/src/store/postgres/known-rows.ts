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
  /** What lies in its inbox; null: not read. */
  readonly inbox: readonly InboxEntry[] | null;
  /** Nothing but what this process commits next can add to its journal in this state of the row (`CommitWriter.3`). */
  readonly firm: boolean;
}

/** A topic as it was seen: its longest waiters and its oldest events, as many as were asked for. */
export interface KnownTopic {
  /** 0: it has no row, so nothing waits and nothing is pending. */
  readonly rev: number;
  readonly pending: number;
  /** Ids of runs. */
  readonly waiters: readonly string[];
  /** Oldest first, of both kinds. */
  readonly events: readonly EventRow[];
  readonly depth: number;
}

/** What is remembered of runs from one commit to the next. */
export interface RunCache {
  get(runId: string): KnownRun | undefined;
}

/** Keys of rows that a decision needs and that are not known. */
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

  /** Adds all that another one wants. */
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

/** What is known of the rows; null stands for a row that is not there, a key that is missing for one that was not looked for. */
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
  /** When it was read, by the store's clock; null: nothing was. */
  now: number | null = null;

  constructor(cache: RunCache | null) {
    this.#cache = cache;
  }

  run(runId: string): KnownRun | null | undefined {
    const known = this.runs.get(runId);
    return known === undefined ? this.#cache?.get(runId) : known;
  }

  /** Whether what `run` says is remembered, and may be out of date. */
  isRemembered(runId: string): boolean {
    return !this.runs.has(runId);
  }
}

/** One text for several: what separates them is in none, since each comes with its length. */
export function pairKey(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join("");
}

/** Something has to be read before this can be decided. What it is stands in the stage's `wanted`. */
export class RowsMissing extends Error {
  override readonly name = "RowsMissing";
}
