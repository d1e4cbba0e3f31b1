import { PawlError } from "../../model/errors.ts";

/** The part of the package `pg` that is used. A pool of the caller's own is one, whatever its version. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "acquire", listener: (client: PostgresClient) => void): unknown;
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  query(config: {
    readonly text: string;
    readonly values: unknown[];
    /** Of a prepared statement. */
    readonly name?: string;
    readonly queryMode?: "extended";
  }): Promise<PostgresResult>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (notification: { readonly payload?: string | undefined }) => void): unknown;
  /** With an error, the connection is closed instead of being used again. */
  release(error?: Error): void;
}

export interface PostgresResult {
  readonly rows: unknown[];
  readonly rowCount: number | null;
  /** What was done: `COMMIT`, or `ROLLBACK` where a transaction had failed. */
  readonly command: string;
}

interface PostgresDriver {
  readonly Pool: new (config: object) => PostgresPool;
}

const PACKAGE = "pg";

/** A pool over the package `pg`, which the application installs. */
export async function createPool(config: object): Promise<PostgresPool> {
  const { Pool } = await loadDriver();
  return new Pool(config);
}

async function loadDriver(): Promise<PostgresDriver> {
  try {
    const module = (await import(PACKAGE)) as { readonly default: PostgresDriver };
    return module.default;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const why = code === "ERR_MODULE_NOT_FOUND" ? "is not installed; run npm install pg" : "can't be loaded";
    throw new PawlError("STORE_UNSUPPORTED", `the package ${PACKAGE} ${why}`, { cause: error });
  }
}

/**
 * A connection that breaks while nothing is asked of it says so by an event, which ends the process if nobody listens. What is
 * asked of it next fails, and that is enough to know: so each has a listener that does nothing, once, for its whole life.
 */

/** Several stores may share a pool, and a caller may hand in a connection again and again. */
const HEARD = new WeakSet<object>();

/** The pool, and each connection before it is given: it may break before the one who waits for it has it. */
export function ignorePoolErrors(pool: PostgresPool): PostgresPool {
  if (HEARD.has(pool)) return pool;
  HEARD.add(pool);
  pool.on("error", nothing);
  pool.on("acquire", ignoreClientErrors);
  return pool;
}

/** What a caller hands in may be less than a connection, and have no events. */
export function ignoreClientErrors(client: PostgresClient): PostgresClient {
  if (HEARD.has(client) || typeof client.on !== "function") return client;
  HEARD.add(client);
  client.on("error", nothing);
  return client;
}

function nothing(): void {
  // The next statement tells.
}
