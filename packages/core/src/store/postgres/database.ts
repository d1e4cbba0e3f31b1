import { StoreError } from "../store-error.ts";
import { createPool, type PostgresClient, type PostgresPool } from "./driver.ts";
import { breaksConnection, storeErrorOf } from "./store-error-of.ts";

export interface DatabaseOptions {
  /** A pool of the caller's, which stays open; or what a pool is made with. */
  readonly source: { readonly pool: PostgresPool } | { readonly config: object };
  /** The schema, not quoted. */
  readonly schema: string;
}

/**
 * The connections to one schema of a database. Every call is one statement that answers with JSON, so nothing hangs on how the
 * driver reads other types. A connection that broke is not used again.
 */
export class Database {
  readonly schema: string;
  readonly #source: DatabaseOptions["source"];
  readonly #prefix: string;
  #pool: PostgresPool | null = null;
  #closed = false;

  constructor({ source, schema }: DatabaseOptions) {
    this.#source = source;
    this.schema = schema;
    this.#prefix = `"${schema.replaceAll('"', '""')}".`;
  }

  async open(): Promise<void> {
    if (this.#pool !== null) return;
    if ("pool" in this.#source) this.#pool = this.#source.pool;
    else {
      this.#pool = await createPool(this.#source.config);
      // A connection that breaks while nobody uses it is replaced when the next one is asked for.
      this.#pool.on("error", () => undefined);
    }
  }

  /** SQL in which `@.` stands for the schema. */
  sql(text: string): string {
    return text.replaceAll("@.", this.#prefix);
  }

  /** One statement, in a transaction of its own, that answers with one value: a column `json`. */
  call(text: string, values: readonly unknown[]): Promise<unknown> {
    return this.use(async (client) => jsonOf(await client.query(this.sql(text), [...values])));
  }

  /** Several statements on one connection. It is closed if the work fails in a way that leaves it in doubt. */
  async use<Result>(work: (client: PostgresClient) => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      if (breaksConnection(error)) client.release(error instanceof Error ? error : new Error(String(error)));
      else client.release();
      throw storeErrorOf(error, true);
    }
  }

  /** A connection to keep; whoever asked releases it. */
  async #connect(): Promise<PostgresClient> {
    if (this.#pool === null || this.#closed)
      throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is closed");
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw storeErrorOf(error, false);
    }
  }

  keep(): Promise<PostgresClient> {
    return this.#connect();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if ("config" in this.#source) await this.#pool?.end();
  }
}

/** Ends a transaction after an error. Where the connection has gone, so has the transaction. */
export async function rollBack(client: PostgresClient, error: unknown): Promise<void> {
  if (!breaksConnection(error)) await client.query("ROLLBACK");
}

/** The value of the column `json` of the one row. */
export function jsonOf({ rows }: { readonly rows: readonly unknown[] }): unknown {
  const [row] = rows as readonly { readonly json: string | null }[];
  const text = row?.json ?? null;
  return text === null || text === "" ? null : JSON.parse(text);
}
