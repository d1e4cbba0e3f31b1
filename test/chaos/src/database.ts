import { DatabaseSync } from "@photostructure/sqlite";
import type { Store } from "pawl";
import { type PostgresPool, postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";
import { ROWS_QUERY, ROWS_TABLE, type TransactionRow } from "./load/transaction-rows.ts";
import { SILENCE_MS } from "./settings.ts";

/** The package has no types. */
const PG: string = "pg";
type Pg = { readonly Pool: new (config: object) => PostgresPool };

/** The store at an address: a server, or else a file. */
export function storeAt(address: string): Store {
  return serverAt(address) ?? sqliteStore(address);
}

export function hasTransactions(address: string): boolean {
  return !address.startsWith("redis://");
}

/** A store for inspection, with the integrity check of its database: `ok`, or the errors. */
export interface Inspected {
  readonly store: Store;
  integrity(): readonly string[];
  /** The rows that transactions have written. */
  transactionRows(): Promise<readonly TransactionRow[]>;
  close(): void;
}

export function inspectedAt(address: string): Inspected {
  const server = serverAt(address);
  if (server !== null) {
    const transactionRows = async () => (isPostgres(address) ? await postgresRows(address, ROWS_QUERY) : []);
    return { store: server, integrity: () => ["ok"], transactionRows, close: () => undefined };
  }
  const database = new DatabaseSync(address);
  return {
    store: sqliteStore(database),
    integrity() {
      const rows = database.prepare("PRAGMA integrity_check").all() as ReadonlyArray<{ integrity_check: string }>;
      return rows.map((row) => row.integrity_check);
    },
    async transactionRows() {
      return database.prepare(ROWS_QUERY).all() as unknown as TransactionRow[];
    },
    close: () => database.close(),
  };
}

/** Creates the table of the transactions, before the first of them could create it concurrently. */
export async function createRowsTable(address: string): Promise<void> {
  if (isPostgres(address)) await postgresRows(address, ROWS_TABLE.postgres);
  else if (hasTransactions(address)) {
    const database = new DatabaseSync(address);
    database.exec(ROWS_TABLE.sqlite);
    database.close();
  }
}

function isPostgres(address: string): boolean {
  return address.startsWith("postgres://");
}

async function postgresRows(address: string, sql: string): Promise<TransactionRow[]> {
  const { Pool } = ((await import(PG)) as { default: Pg }).default;
  const pool = new Pool({ connectionString: address });
  const client = await pool.connect();
  const { rows } = await client.query(sql);
  client.release();
  await pool.end();
  return rows as TransactionRow[];
}

/** The fragment of the address is the number of partitions. Nodes of a cluster are separated by commas. */
function serverAt(address: string): Store | null {
  if (isPostgres(address)) return postgresStore(address, { statementMs: SILENCE_MS });
  if (!address.startsWith("redis://")) return null;
  const [urls = "", partitions = "1"] = address.split("#");
  const source = urls.includes(",") ? urls.split(",") : urls;
  return redisStore(source, { silenceMs: SILENCE_MS, partitions: Number(partitions) });
}
