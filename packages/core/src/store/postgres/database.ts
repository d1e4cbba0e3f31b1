import { StoreError } from "../store-error.ts";
import {
  createPool,
  ignoreClientErrors,
  ignorePoolErrors,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
} from "./driver.ts";
import { breaksConnection, isOfAnotherSession, storeErrorOf } from "./errors.ts";

export interface DatabaseOptions {
  /** A pool of the caller's, which stays open; or what a pool is made with. */
  readonly source: { readonly pool: PostgresPool } | { readonly config: object };
  /** The schema, not quoted. */
  readonly schema: string;
  /** Whether a connection keeps what it was told, as it does unless a pooler gives it to others in between. */
  readonly keepsSessions: boolean;
}

/** A call of a function. What it does is planned in there, so that its own plan holds whatever becomes of the tables. */
const FUNCTION_CALL = /^SELECT @\.(\w+)\(/;
/** The longest name that the server tells from others. */
const NAME_BYTES_MAX = 63;

/** How many statements are kept with the schema's name in them. */
const TEXTS_MAX = 200;

/**
 * The connections to one schema of a database. Every call is one statement that answers with JSON, so nothing hangs on how the
 * driver reads other types. A connection that broke is not used again.
 */
export class Database {
  readonly schema: string;
  readonly #source: DatabaseOptions["source"];
  readonly #quoted: string;
  readonly #texts = new Map<string, string>();
  #keepsSessions: boolean;
  #pool: PostgresPool | null = null;
  #closed = false;

  constructor({ source, schema, keepsSessions }: DatabaseOptions) {
    this.#source = source;
    this.#keepsSessions = keepsSessions;
    this.schema = schema;
    this.#quoted = `"${schema.replaceAll('"', '""')}"`;
  }

  async open(): Promise<void> {
    this.#pool ??= ignorePoolErrors("pool" in this.#source ? this.#source.pool : await createPool(this.#source.config));
  }

  /** SQL in which `@` stands for the schema. */
  sql(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const sql = text.replaceAll("@", this.#quoted);
    if (this.#texts.size < TEXTS_MAX) this.#texts.set(text, sql);
    return sql;
  }

  /**
   * One statement, in a transaction of its own, that answers with one value: a column `json`. Calls of functions are prepared: to
   * read one takes the server as long as to write a row.
   */
  async call(text: string, values: readonly unknown[]): Promise<unknown> {
    const name = this.#nameOf(text);
    try {
      return await this.use((connection) => connection.call(text, values, name));
    } catch (error) {
      if (name === undefined || !isOfAnotherSession(error)) throw error;
      this.#keepsSessions = false;
      return await this.use((connection) => connection.call(text, values));
    }
  }

  #nameOf(text: string): string | undefined {
    const called = this.#keepsSessions ? FUNCTION_CALL.exec(text)?.[1] : undefined;
    const name = `${this.schema}.${called}`;
    return called === undefined || Buffer.byteLength(name) > NAME_BYTES_MAX ? undefined : name;
  }

  /** Several statements on one connection. */
  async use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const client = await this.keep();
    const connection = new Connection(this, client);
    try {
      return await work(connection);
    } finally {
      client.release(connection.broken ?? undefined);
    }
  }

  /** A connection to keep; whoever asked releases it. */
  async keep(): Promise<PostgresClient> {
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
    if ("config" in this.#source) await this.#pool?.end();
  }
}

/** A connection in use. Its errors are those of a store, where they are about reaching the database. */
export class Connection {
  readonly #database: Database;
  readonly #client: PostgresClient;
  #broken: Error | null = null;

  constructor(database: Database, client: PostgresClient) {
    this.#database = database;
    this.#client = client;
  }

  /** Why the connection must not be used again; null: it may be. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** SQL with `@` for the schema; more than one statement where there are no values. */
  async query(text: string, values?: readonly unknown[], name?: string): Promise<PostgresResult> {
    try {
      const sql = this.#database.sql(text);
      if (values === undefined) return await this.#client.query(sql);
      if (name === undefined) return await this.#client.query(sql, [...values]);
      return await this.#client.query({ name, text: sql, values: [...values] });
    } catch (error) {
      throw storeErrorOf(this.#noticed(error), true);
    }
  }

  /** A statement of the user's, whose errors are the user's to see. It is one: a second could end the transaction. */
  async queryPlain(text: string, values: readonly unknown[]): Promise<PostgresResult> {
    try {
      return await this.#client.query({ text, values: [...values], queryMode: "extended" });
    } catch (error) {
      throw this.#noticed(error);
    }
  }

  /** The one value of a statement that answers with a column `json`. */
  async call(text: string, values: readonly unknown[], name?: string): Promise<unknown> {
    const { rows } = await this.query(text, values, name);
    const json = (rows[0] as { readonly json: string | null } | undefined)?.json ?? null;
    return json === null || json === "" ? null : JSON.parse(json);
  }

  /** Ends a transaction after an error. Where the connection has gone, so has the transaction. */
  async rollBack(): Promise<void> {
    if (this.#broken === null) await this.query("ROLLBACK");
  }

  #noticed(error: unknown): unknown {
    if (breaksConnection(error)) this.#broken ??= error instanceof Error ? error : new Error(String(error));
    return error;
  }
}
