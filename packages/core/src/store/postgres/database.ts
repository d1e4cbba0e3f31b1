import { StoreError } from "../store-error.ts";
import {
  createPool,
  ignoreClientErrors,
  ignorePoolErrors,
  PoolConnections,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
} from "./driver.ts";
import { breaksConnection, isLostPreparedStatement, storeErrorOf } from "./errors.ts";

export interface DatabaseOptions {
  /** The caller's pool, which the store never closes, or the configuration of a new pool. */
  readonly source: { readonly pool: PostgresPool } | { readonly config: object };
  /** The schema, not quoted. */
  readonly schema: string;
  /** Whether a connection keeps its prepared statements. False behind a pooler that shares connections. */
  readonly keepsSessions: boolean;
}

/** A call of a function. The plan of the call never gets stale, because the function plans its own statements. */
const FUNCTION_CALL = /^SELECT (?:json_build_array\()?@\.(\w+)\(/;
/** The server truncates longer names. */
const NAME_BYTES_MAX = 63;

/** How many statements are cached with the schema name inserted. */
const TEXTS_MAX = 200;

/**
 * The connections to one schema. Every call is one statement that returns JSON, so the driver's type parsers do not matter. A broken
 * connection is not used again.
 */
export class Database {
  readonly schema: string;
  readonly #source: DatabaseOptions["source"];
  readonly #quoted: string;
  readonly #texts = new Map<string, string>();
  #keepsSessions: boolean;
  #pool: PostgresPool | null = null;
  /** Null if the pool is the caller's. */
  #connections: PoolConnections | null = null;
  #closed = false;

  constructor({ source, schema, keepsSessions }: DatabaseOptions) {
    this.#source = source;
    this.#keepsSessions = keepsSessions;
    this.schema = schema;
    this.#quoted = `"${schema.replaceAll('"', '""')}"`;
  }

  async open(): Promise<void> {
    if (this.#pool !== null) return;
    this.#pool = ignorePoolErrors("pool" in this.#source ? this.#source.pool : await createPool(this.#source.config));
    if ("config" in this.#source) this.#connections = new PoolConnections(this.#pool);
  }

  /** Inserts the schema name for `@`. */
  sql(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const sql = text.replaceAll("@", this.#quoted);
    if (this.#texts.size < TEXTS_MAX) this.#texts.set(text, sql);
    return sql;
  }

  /**
   * Executes one statement in its own transaction and returns the value of its column `json`. Calls of functions are prepared, because
   * parsing one takes the server as long as writing a row.
   */
  async call(text: string, values: readonly unknown[]): Promise<unknown> {
    const name = this.#nameOf(text);
    try {
      return await this.use((connection) => connection.call(text, values, name));
    } catch (error) {
      if (name === undefined || !isLostPreparedStatement(error)) throw error;
      this.#keepsSessions = false;
      return await this.use((connection) => connection.call(text, values));
    }
  }

  #nameOf(text: string): string | undefined {
    const called = this.#keepsSessions ? FUNCTION_CALL.exec(text)?.[1] : undefined;
    const name = `${this.schema}.${called}`;
    return called === undefined || Buffer.byteLength(name) > NAME_BYTES_MAX ? undefined : name;
  }

  /** Runs `work` with one connection. */
  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const client = await this.acquire();
    const connection = new Connection(this, client);
    try {
      return await work(connection);
    } finally {
      client.release(connection.broken ?? undefined);
    }
  }

  /** Returns a connection that the caller must release. */
  async acquire(): Promise<PostgresClient> {
    if (this.#pool === null || this.#closed) {
      throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is closed");
    }
    try {
      return ignoreClientErrors(await this.#pool.connect());
    } catch (error) {
      throw storeErrorOf(error, false);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#connections === null) return;
    await this.#pool?.end();
    await this.#connections.ended();
  }

  /** Ends the connections of the store's own pool, so that `close` need not wait for a server that does not answer. */
  abort(): void {
    this.#connections?.abort();
  }
}

/** A connection in use. Connection failures become store errors. */
export class Connection {
  readonly #database: Database;
  readonly #client: PostgresClient;
  #broken: Error | null = null;

  constructor(database: Database, client: PostgresClient) {
    this.#database = database;
    this.#client = client;
  }

  /** Why the connection must not be used again. Null if it can be. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** Executes SQL with `@` for the schema. Without `values` it may contain several statements. */
  async query(text: string, values?: readonly unknown[], name?: string): Promise<PostgresResult> {
    try {
      const sql = this.#database.sql(text);
      if (values === undefined) return await this.#client.query(sql);
      if (name === undefined) return await this.#client.query(sql, [...values]);
      return await this.#client.query({ name, text: sql, values: [...values] });
    } catch (error) {
      throw storeErrorOf(this.#noteIfBroken(error), true);
    }
  }

  /** Executes a statement of user code, whose errors pass unchanged. The extended protocol rejects a second statement. */
  async queryPlain(text: string, values: readonly unknown[]): Promise<PostgresResult> {
    try {
      return await this.#client.query({ text, values: [...values], queryMode: "extended" });
    } catch (error) {
      throw this.#noteIfBroken(error);
    }
  }

  /** Returns the value of the column `json`. */
  async call(text: string, values: readonly unknown[], name?: string): Promise<unknown> {
    const { rows } = await this.query(text, values, name);
    const json = (rows[0] as { readonly json: string | null } | undefined)?.json ?? null;
    return json === null || json === "" ? null : JSON.parse(json);
  }

  /** Rolls back after an error. A broken connection has no transaction any more. */
  async rollBack(): Promise<void> {
    if (this.#broken === null) await this.query("ROLLBACK");
  }

  #noteIfBroken(error: unknown): unknown {
    if (breaksConnection(error)) this.#broken ??= error instanceof Error ? error : new Error(String(error));
    return error;
  }
}
