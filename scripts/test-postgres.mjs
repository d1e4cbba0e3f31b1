import { createServer } from "node:http";
import { startPostgres } from "./postgres-server.mjs";

/**
 * Global setup of Vitest. A PostgreSQL server starts when the first test requests it, so that other tests do not wait for it, and stops
 * at the end. Tests request its URL from the address in `PAWL_TEST_POSTGRES_START`.
 *
 * `PAWL_TEST_POSTGRES_URL` names a server to use instead.
 *
 * @import { PostgresServer } from "./postgres-server.mjs"
 */

/** Tests need no durability. `synchronous_commit` stays on, because the store requires it. */
const SETTINGS = ["fsync=off", "full_page_writes=off", "max_connections=200", "autovacuum_naptime=10s"];

/** @type {Promise<PostgresServer | null> | null} */
let started = null;

const addressServer = createServer((_request, response) => {
  started ??= find();
  started.then(
    (server) => response.end(JSON.stringify({ url: server?.url ?? null })),
    (error) => response.writeHead(500).end(String(error)),
  );
});

export async function setup() {
  await new Promise((resolve) => addressServer.listen(0, "127.0.0.1", () => resolve(null)));
  const address = addressServer.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.env.PAWL_TEST_POSTGRES_START = `http://127.0.0.1:${port}`;
}

export async function teardown() {
  addressServer.close();
  const server = await started?.catch(() => null);
  await server?.stop();
}

const noop = async () => undefined;

/** @returns {Promise<PostgresServer | null>} */
async function find() {
  const url = process.env.PAWL_TEST_POSTGRES_URL;
  return url === undefined
    ? startPostgres(SETTINGS)
    : { url, pid: 0, stop: noop, kill: noop, start: noop, freeze: noop, thaw: noop };
}
