import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
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

/** A URL, or what the package `pg` takes in its place. */
const SOURCE = kinds.either(
  kinds.storedText(10_000),
  kinds.withMethods("a pool of the package pg", "connect", "end", "on"),
);

/** More connections than any server takes. */
const CONNECTIONS_LIMIT = 100_000;
/** A timeout of Node fires at once when it is longer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/** The server shortens longer names. */
const SCHEMA_BYTES_MAX = 63;

const OPTIONS = optionTable<PostgresStoreOptions>("postgresStore", {
  schema: kinds.bytesUpTo(SCHEMA_BYTES_MAX),
  connectionsMax: kinds.integer(2, CONNECTIONS_LIMIT),
  statementMs: kinds.integer(1, TIMEOUT_MS_MAX),
  listen: kinds.flag,
  allowAsyncCommit: kinds.flag,
  clock: kinds.oneOf("database", "process"),
});

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
export function postgresStore(source: string | PostgresPool, given?: PostgresStoreOptions): Store {
  readArgument(SOURCE, source, "source");
  const options = readOptions(OPTIONS, given);
  const { schema = "pawl", listen = true, allowAsyncCommit = false, clock = "database" } = options;
  const { connectionsMax = CONNECTIONS_MAX, statementMs = STATEMENT_MS } = options;
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
