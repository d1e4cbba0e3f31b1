import { PawlError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import { Database } from "./database.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./driver.ts";
import { PostgresStore } from "./postgres-store.ts";

export type { PostgresClient, PostgresPool, PostgresResult };

export interface PostgresStoreOptions {
  /** The schema of the tables; created if missing. Default `pawl`. */
  readonly schema?: string;
  /** Maximum connections of a pool that the store creates. One of them listens. Default 10. */
  readonly connectionsMax?: number;
  /** Maximum duration of a statement in ms, in a pool that the store creates; then its connection is closed. Default 30,000. */
  readonly statementMs?: number;
  /**
   * Whether a connection listens for changes by other processes. `false` means that they are found by polling and that no statement is
   * prepared; use it with a pooler in transaction mode. Default true.
   */
  readonly listen?: boolean;
  /** Accept a server with `synchronous_commit` off: acknowledged commits may be lost when the server crashes. Default false. */
  readonly allowAsyncCommit?: boolean;
  /** Which clock decides. `process` is for tests with virtual time: all processes must then share one clock. Default `database`. */
  readonly clock?: "database" | "process";
}

const CONNECTIONS_MAX = 10;
const STATEMENT_MS = 30_000;
const CONNECT_MS = 10_000;

/**
 * A store in a PostgreSQL database, which any number of processes may share. `source` is an address (`postgres://…`), or a pool of the
 * package `pg`, which the caller closes.
 *
 * ```ts
 * const engine = await createEngine({ store: postgresStore("postgres://localhost/app"), workflows: [order] });
 * ```
 */
export function postgresStore(source: string | PostgresPool, options: PostgresStoreOptions = {}): Store {
  const { schema = "pawl", listen = true, allowAsyncCommit = false, clock = "database" } = options;
  const { connectionsMax = CONNECTIONS_MAX, statementMs = STATEMENT_MS } = options;
  if (schema === "" || Buffer.byteLength(schema) > 63 || schema.includes("\0")) {
    throw new PawlError("OPTION_INVALID", `schema must be a name of 1 to 63 bytes; got ${JSON.stringify(schema)}`);
  }
  if (clock !== "database" && clock !== "process") {
    throw new PawlError("OPTION_INVALID", `clock must be "database" or "process"; got ${String(clock)}`);
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
  throw new PawlError("OPTION_INVALID", `${name} must be an integer of at least ${min}; got ${value}`);
}
