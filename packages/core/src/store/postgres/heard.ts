import type { PostgresClient, PostgresPool } from "./driver.ts";

/**
 * A connection that breaks while nothing is asked of it says so by an event, which ends the process if nobody listens. What is
 * asked of it next fails, and that is enough to know: so each has a listener that does nothing, once, for its whole life.
 */

/** Several stores may share a pool, and a caller may hand in a connection again and again. */
const HEARD = new WeakSet<object>();

/** The pool, and each connection before it is given: it may break before the one who waits for it has it. */
export function hearPool(pool: PostgresPool): PostgresPool {
  if (HEARD.has(pool)) return pool;
  HEARD.add(pool);
  pool.on("error", nothing);
  pool.on("acquire", hearClient);
  return pool;
}

/** What a caller hands in may be less than a connection, and have no events. */
export function hearClient(client: PostgresClient): PostgresClient {
  if (HEARD.has(client) || typeof client.on !== "function") return client;
  HEARD.add(client);
  client.on("error", nothing);
  return client;
}

function nothing(): void {
  // The next statement tells.
}
