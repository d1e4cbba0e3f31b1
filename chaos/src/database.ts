import { DatabaseSync } from "@photostructure/sqlite";
import type { Store } from "pawl";
import { postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";
import type { BookLine } from "./load/books.ts";

/** Where the runs are, by its address: a server, or else a file. */
export function storeAt(address: string): Store {
  return serverAt(address) ?? sqliteStore(address);
}

/** A store to look at from outside, and what its database says of its own state: `ok`, or what is wrong. */
export interface Inspected {
  readonly store: Store;
  integrity(): readonly string[];
  /** What transactions have written. */
  books(): readonly BookLine[];
  close(): void;
}

export function inspectedAt(address: string): Inspected {
  const server = serverAt(address);
  if (server !== null) return { store: server, integrity: () => ["ok"], books: () => [], close: () => undefined };
  const database = new DatabaseSync(address);
  return {
    store: sqliteStore(database),
    integrity() {
      const rows = database.prepare("PRAGMA integrity_check").all() as ReadonlyArray<{ integrity_check: string }>;
      return rows.map((row) => row.integrity_check);
    },
    books() {
      const table = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'chaos_books'").get();
      if (table === undefined) return [];
      return database.prepare("SELECT run, location, body FROM chaos_books ORDER BY n").all() as unknown as BookLine[];
    },
    close: () => database.close(),
  };
}

function serverAt(address: string): Store | null {
  if (address.startsWith("postgres://")) return postgresStore(address);
  return address.startsWith("redis://") ? redisStore(address) : null;
}
