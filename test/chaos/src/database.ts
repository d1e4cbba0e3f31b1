import { DatabaseSync } from "@photostructure/sqlite";
import type { Store } from "pawl";
import { type PostgresPool, postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";
import { BOOKS_READ, BOOKS_TABLE, type BookLine } from "./load/books.ts";
import { SILENCE_MS } from "./settings.ts";

/** The package has no types of its own. */
const PG: string = "pg";
type Pg = { readonly Pool: new (config: object) => PostgresPool };

/** Where the runs are, by its address: a server, or else a file. */
export function storeAt(address: string): Store {
  return serverAt(address) ?? sqliteStore(address);
}

export function hasTransactions(address: string): boolean {
  return !address.startsWith("redis://");
}

/** A store to look at from outside, and what its database says of its own state: `ok`, or what is wrong. */
export interface Inspected {
  readonly store: Store;
  integrity(): readonly string[];
  /** What transactions have written. */
  books(): Promise<readonly BookLine[]>;
  close(): void;
}

export function inspectedAt(address: string): Inspected {
  const server = serverAt(address);
  if (server !== null) {
    const books = async () => (isPostgres(address) ? await postgresRows(address, BOOKS_READ) : []);
    return { store: server, integrity: () => ["ok"], books, close: () => undefined };
  }
  const database = new DatabaseSync(address);
  return {
    store: sqliteStore(database),
    integrity() {
      const rows = database.prepare("PRAGMA integrity_check").all() as ReadonlyArray<{ integrity_check: string }>;
      return rows.map((row) => row.integrity_check);
    },
    async books() {
      return database.prepare(BOOKS_READ).all() as unknown as BookLine[];
    },
    close: () => database.close(),
  };
}

/** The table that transactions write to; before the first of them, or several would make it at once. */
export async function makeBooks(address: string): Promise<void> {
  if (isPostgres(address)) await postgresRows(address, BOOKS_TABLE.postgres);
  else if (hasTransactions(address)) {
    const database = new DatabaseSync(address);
    database.exec(BOOKS_TABLE.sqlite);
    database.close();
  }
}

function isPostgres(address: string): boolean {
  return address.startsWith("postgres://");
}

async function postgresRows(address: string, sql: string): Promise<BookLine[]> {
  const { Pool } = ((await import(PG)) as { default: Pg }).default;
  const pool = new Pool({ connectionString: address });
  const client = await pool.connect();
  const { rows } = await client.query(sql);
  client.release();
  await pool.end();
  return rows as BookLine[];
}

/** The number of partitions is the fragment of the address; nodes of a cluster have commas between them. */
function serverAt(address: string): Store | null {
  if (isPostgres(address)) return postgresStore(address, { statementMs: SILENCE_MS });
  if (!address.startsWith("redis://")) return null;
  const [urls = "", partitions = "1"] = address.split("#");
  const source = urls.includes(",") ? urls.split(",") : urls;
  return redisStore(source, { silenceMs: SILENCE_MS, partitions: Number(partitions) });
}
