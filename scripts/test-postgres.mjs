import { createServer } from "node:http";
import { startPostgres } from "./postgres-server.mjs";

/**
 * Vitest calls this once, before all tests. A server is started when the first test asks for one, and stopped at the end:
 * whoever runs other tests waits for none. Tests find the address in `PAWL_TEST_POSTGRES_ASK`.
 *
 * `PAWL_TEST_POSTGRES_URL` names a server to be used instead.
 *
 * @import { PostgresServer } from "./postgres-server.mjs"
 */

/** Tests need no disk that keeps what is written; `synchronous_commit` stays on, since the store asks for it. */
const SETTINGS = ["fsync=off", "full_page_writes=off", "max_connections=200", "autovacuum_naptime=10s"];

/** @type {Promise<PostgresServer | null> | null} */
let started = null;

const door = createServer((_request, response) => {
  started ??= find();
  started.then(
    (server) => response.end(JSON.stringify({ url: server?.url ?? null })),
    (error) => response.writeHead(500).end(String(error)),
  );
});

export async function setup() {
  await new Promise((resolve) => door.listen(0, "127.0.0.1", () => resolve(null)));
  const address = door.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.env.PAWL_TEST_POSTGRES_ASK = `http://127.0.0.1:${port}`;
}

export async function teardown() {
  door.close();
  const server = await started?.catch(() => null);
  await server?.stop();
}

const nothing = async () => undefined;

/** @returns {Promise<PostgresServer | null>} */
async function find() {
  const url = process.env.PAWL_TEST_POSTGRES_URL;
  return url === undefined ? startPostgres(SETTINGS) : { url, pid: 0, stop: nothing, kill: nothing, start: nothing };
}
