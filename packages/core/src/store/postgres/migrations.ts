import { PawlError } from "../../model/errors.ts";
import { COMMIT_SQL } from "./commit-sql.ts";
import { type Database, jsonOf, rollBack } from "./database.ts";
import { PRUNE_SQL } from "./prune-sql.ts";
import { ROWS_SQL } from "./rows-sql.ts";
import { TABLES_SQL } from "./tables-sql.ts";
import { WORKER_SQL } from "./worker-sql.ts";

/**
 * The schema, as the steps that made it. A step is never changed once it is published: a later one changes what it left.
 *
 * Functions have the number of the step that made them in their names, and stay when a later one brings others. So processes
 * of the release before go on beside those of this one, as long as a step only adds.
 */
const MIGRATIONS: readonly string[] = [`${TABLES_SQL}${COMMIT_SQL}${ROWS_SQL}${WORKER_SQL}${PRUNE_SQL}`];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** The oldest schema that code of this version works on. */
const VERSION_SQL = `SELECT CASE WHEN to_regclass($1) IS NULL THEN NULL
  ELSE (xpath('/row/version/text()', query_to_xml('SELECT max(version) AS version FROM ' || $1, false, true, '')))[1]::text END AS json`;

/** Brings the schema to the version that this code knows, one process at a time. */
export async function migrate(database: Database): Promise<void> {
  await database.use(async (client) => {
    const table = database.sql("@.migrations");
    if (Number(jsonOf(await client.query(VERSION_SQL, [table])) ?? 0) >= SCHEMA_VERSION) return;
    await client.query("BEGIN");
    try {
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 20261116))", [`pawl ${database.schema}`]);
      const schema = database.sql("@.").slice(0, -1);
      await client.query(
        `CREATE SCHEMA IF NOT EXISTS ${schema}; CREATE TABLE IF NOT EXISTS ${table} (version integer PRIMARY KEY)`,
      );
      const version = Number(jsonOf(await client.query(VERSION_SQL, [table])) ?? 0);
      for (const [index, migration] of MIGRATIONS.entries()) {
        if (index < version) continue;
        await client.query(database.sql(migration));
        await client.query(`INSERT INTO ${table} (version) VALUES (${index + 1})`);
      }
      await client.query("COMMIT");
    } catch (error) {
      await rollBack(client, error);
      throw error;
    }
  });
}

const SETTINGS_SQL = `SELECT json_build_object('version', current_setting('server_version_num')::integer,
  'commit', current_setting('synchronous_commit'), 'replica', pg_is_in_recovery(),
  'encoding', current_setting('server_encoding'))::text AS json`;

const VERSION_MIN = 130_000;

/** Refuses a server that would lose what it has said to have committed, or that can't do the work. */
export async function checkServer(database: Database, options: { readonly allowAsyncCommit: boolean }): Promise<void> {
  const { version, commit, replica, encoding } = (await database.call(SETTINGS_SQL, [])) as {
    readonly version: number;
    readonly commit: string;
    readonly replica: boolean;
    readonly encoding: string;
  };
  if (version < VERSION_MIN)
    throw unsupported(`PostgreSQL ${Math.floor(version / 10_000)} is too old; use 13 or newer`);
  if (encoding !== "UTF8") throw unsupported(`the database has the encoding ${encoding}; make one with UTF8`);
  if (replica) throw unsupported("the server is a replica and only reads; connect to the primary");
  if (commit === "off" && !options.allowAsyncCommit) {
    throw unsupported(
      "synchronous_commit is off: commits that were answered are lost when the server dies; turn it on, or set allowAsyncCommit",
    );
  }
}

function unsupported(text: string): PawlError {
  return new PawlError("STORE_UNSUPPORTED", text);
}
