import { PawlError } from "../../model/errors.ts";

/** The part of the package `pg` that the store uses. Any version of its pool fits. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "acquire" | "connect", listener: (client: PostgresClient) => void): unknown;
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  query(config: {
    readonly text: string;
    readonly values: unknown[];
    /** Makes it a prepared statement. */
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
  /** `COMMIT`, or `ROLLBACK` if the transaction had failed before. */
  readonly command: string;
}

/** The socket of a client. Not a part of the documented API, so it may be missing. */
interface ClientSocket {
  readonly connection?: { readonly stream?: { destroy?(): void } };
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

/** The connections of a pool. A pool removes a client before its connection has ended, which needs an answer of the server. */
export class PoolConnections {
  readonly #open = new Set<PostgresClient>();
  #onEnded: (() => void) | null = null;

  constructor(pool: PostgresPool) {
    pool.on("connect", (client) => {
      this.#open.add(client);
      client.on("end", () => {
        this.#open.delete(client);
        if (this.#open.size === 0) this.#onEnded?.();
      });
    });
  }

  /** Resolves when all connections have ended. */
  async ended(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEnded = resolve;
    });
  }

  /** Closes all sockets without an answer of the server. */
  abort(): void {
    for (const client of this.#open) (client as ClientSocket).connection?.stream?.destroy?.();
  }
}

async function loadDriver(): Promise<PostgresDriver> {
  try {
    const module = (await import(PACKAGE)) as { readonly default: PostgresDriver };
    return module.default;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const why = code === "ERR_MODULE_NOT_FOUND" ? "is not installed; run npm install pg" : "could not be loaded";
    throw new PawlError("STORE_UNSUPPORTED", `the package ${PACKAGE} ${why}`, { cause: error });
  }
}

/** Pools and clients that already have the listener: stores may share a pool, and a caller may pass a client repeatedly. */
const HANDLED = new WeakSet<object>();

/**
 * Ignores `error` events of idle connections. `pg` emits them when a connection breaks, and without a listener Node exits. Nothing is
 * lost: the next query on that connection fails. Clients are covered from `acquire` on, before their caller has them.
 */
export function ignorePoolErrors(pool: PostgresPool): PostgresPool {
  if (HANDLED.has(pool)) return pool;
  HANDLED.add(pool);
  pool.on("error", ignore);
  pool.on("acquire", ignoreClientErrors);
  return pool;
}

/** A client that a caller passes may have no events. */
export function ignoreClientErrors(client: PostgresClient): PostgresClient {
  if (HANDLED.has(client) || typeof client.on !== "function") return client;
  HANDLED.add(client);
  client.on("error", ignore);
  return client;
}

function ignore(): void {
  // The next query fails.
}
