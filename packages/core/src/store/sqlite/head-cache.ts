import type { AwaitedPosts, RunHead } from "../../rules/tables.ts";
import type { SqliteDatabase } from "./driver.ts";

/** How many runs a generation holds; two are remembered. */
const GENERATION_MAX = 2_048;

/** What this connection knows of a run without asking. */
export interface CachedRun {
  head: RunHead;
  /** Undefined: not known. */
  wait: AwaitedPosts | null | undefined;
  /** The newest seq of its journal; null: not known. */
  newest: number | null;
  /** The numbers of what lies in its inbox; null: not known. */
  inbox: readonly number[] | null;
  /** Whether it is known that no run has it as its parent. */
  childless: boolean;
}

/**
 * Heads of runs as this connection left them, so that a guard needs no row to be read.
 *
 * 1. It answers only inside a transaction that holds the write lock, and only while no other connection has committed since
 *    the heads were written or read: the database's `data_version` says so. Under the lock nobody can commit.
 * 2. A transaction that is rolled back takes everything with it.
 * 3. There is one for each database that is open: commits through it do not change the version that it sees.
 */
export class HeadCache {
  #young = new Map<string, CachedRun>();
  #old = new Map<string, CachedRun>();
  #version: number | null = null;
  #isOpen = false;

  /** A transaction holds the write lock, and the database has this version. */
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

  /** What was not asked for since the generation before is forgotten with it. */
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

  /** Rows have changed by another hand on this connection. */
  forget(): void {
    this.#clear();
  }

  #clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** What is known of a run whose head was read. */
export function knownOf(head: RunHead): CachedRun {
  return { head, wait: undefined, newest: null, inbox: null, childless: false };
}

const CACHES = new WeakMap<SqliteDatabase, HeadCache>();

/** The one that all stores over this open database share. */
export function cacheOf(database: SqliteDatabase): HeadCache {
  const cache = CACHES.get(database) ?? new HeadCache();
  CACHES.set(database, cache);
  return cache;
}
