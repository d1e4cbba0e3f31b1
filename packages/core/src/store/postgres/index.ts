import { PawlError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import { Database } from "./database.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./driver.ts";
import { PostgresStore } from "./postgres-store.ts";

export type { PostgresClient, PostgresPool, PostgresResult };

export interface PostgresStoreOptions {
  /** The schema that the tables lie in; made if there is none. `pawl` unless said otherwise. */
  readonly schema?: string;
  /** How many connections there may be, in a pool that the store makes. One of them listens. */
  readonly connectionsMax?: number;
  /** How long a statement may take before its connection is given up, in ms, in a pool that the store makes. */
  readonly statementMs?: number;
  /**
   * False: no connection listens for what other processes do, and they are heard of by polling; and no statement is prepared. For
   * a pooler that gives a connection to each transaction.
   */
  readonly listen?: boolean;
  /** Go on where `synchronous_commit` is off: commits that were answered may be lost when the server dies. */
  readonly allowAsyncCommit?: boolean;
  /** Whose clock counts. `process` is for tests whose time is moved by hand: all processes must have the same clock then. */
  readonly clock?: "database" | "process";
}

const CONNECTIONS_MAX = 10;
const STATEMENT_MS = 30_000;
const CONNECT_MS = 10_000;

/**
 * Keeps everything in a PostgreSQL database, which any number of processes may share. `source` is an address
 * (`postgres://…`), or a pool of the package `pg`, which the caller closes.
 *
 * ```ts
 * const engine = await createEngine({ store: postgresStore("postgres://localhost/app"), workflows: [order] });
 * ```
 */
export function postgresStore(source: string | PostgresPool, options: PostgresStoreOptions = {}): Store {
  const { schema = "pawl", listen = true, allowAsyncCommit = false, clock = "database" } = options;
  const { connectionsMax = CONNECTIONS_MAX, statementMs = STATEMENT_MS } = options;
  if (schema === "" || Buffer.byteLength(schema) > 63 || schema.includes("\0")) {
    throw new PawlError("OPTION_INVALID", `the schema ${JSON.stringify(schema)} is no name of 1 to 63 bytes`);
  }
  if (clock !== "database" && clock !== "process") {
    throw new PawlError("OPTION_INVALID", `clock is ${String(clock)}; it can be database or process`);
  }
  checkWhole("connectionsMax", connectionsMax, 2);
  checkWhole("statementMs", statementMs, 1);
  const config = {
    connectionString: source,
    max: connectionsMax,
    query_timeout: statementMs,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    application_name: "pawl",
  };
  const database = new Database({
    source: typeof source === "string" ? { config } : { pool: source },
    schema,
    keepsSessions: listen,
  });
  return new PostgresStore({ database, clock, listen, allowAsyncCommit });
}

function checkWhole(name: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new PawlError("OPTION_INVALID", `${name} is ${value}; it must be a whole number of at least ${min}`);
}
