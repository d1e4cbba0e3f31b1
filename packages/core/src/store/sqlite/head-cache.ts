import type { AwaitedPosts, RunHead } from "../../rules/tables.ts";
import type { SqliteDatabase } from "./driver.ts";

/** How many runs one generation holds. Two generations are kept. */
const GENERATION_MAX = 2_048;

/** A run as this connection knows it without a query. */
export interface CachedRun {
  head: RunHead;
  /** Undefined if not known. */
  wait: AwaitedPosts | null | undefined;
  /** The newest seq of its journal. Null if not known. */
  newest: number | null;
  /** The numbers of its inbox entries. Null if not known. */
  inbox: readonly number[] | null;
  /** True if the run certainly has no children. */
  childless: boolean;
}

/**
 * Heads of runs as this connection left them, so that a guard needs no query.
 *
 * 1. An entry is returned only inside a transaction that holds the write lock, and only if no other connection has committed since the
 *    entry was stored (`data_version`). No other connection can commit under the lock.
 * 2. A rollback clears the cache.
 * 3. Each open database has one cache: its own commits do not change the `data_version` that it sees.
 */
export class HeadCache {
  #young = new Map<string, CachedRun>();
  #old = new Map<string, CachedRun>();
  #version: number | null = null;
  #isOpen = false;

  /** Called when a transaction has the write lock. `version` is the `data_version` of the database. */
  open(version: number): void {
    if (version !== this.#version) this.#clear();
    this.#version = version;
    this.#isOpen = true;
  }

  close(end: "committed" | "rolledBack"): void {
    this.#isOpen = false;
    if (end === "rolledBack") this.#clear();
  }

  get(runId: string): CachedRun | undefined {
    if (!this.#isOpen) return undefined;
    const young = this.#young.get(runId);
    if (young !== undefined) return young;
    const old = this.#old.get(runId);
    if (old !== undefined) this.put(old);
    return old;
  }

  /** Entries that were not used since the previous generation are dropped with it. */
  put(run: CachedRun): void {
    if (!this.#isOpen) return;
    if (this.#young.size >= GENERATION_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(run.head.id, run);
  }

  delete(runId: string): void {
    this.#young.delete(runId);
    this.#old.delete(runId);
  }

  /** Called when other code has changed rows through this connection. */
  forget(): void {
    this.#clear();
  }

  #clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** The cache entry of a run whose head was read. */
export function knownOf(head: RunHead): CachedRun {
  return { head, wait: undefined, newest: null, inbox: null, childless: false };
}

const CACHES = new WeakMap<SqliteDatabase, HeadCache>();

/** The cache that all stores over this open database share. */
export function cacheOf(database: SqliteDatabase): HeadCache {
  const cache = CACHES.get(database) ?? new HeadCache();
  CACHES.set(database, cache);
  return cache;
}
