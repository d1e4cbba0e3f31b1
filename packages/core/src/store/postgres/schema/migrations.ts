import { PawlError } from "../../../model/errors.ts";
import type { Connection, Database } from "../database.ts";
import { APPEND_SQL, COMMIT_SQL, DOCUMENTS_SQL } from "./commit.ts";
import { COLUMNS_SQL } from "./commit-columns.ts";
import { JOURNAL_SQL } from "./journal.ts";
import { LOADING_SQL } from "./loads.ts";
import { BEAT_SQL, CLAIM_NEWEST_SQL, CLAIM_OF_MANY_SQL, OWNERS_SQL, WORKER_SQL } from "./ownership.ts";
import { PRUNE_SQL } from "./prune.ts";
import { READING_SQL, ROWS_SQL } from "./reads.ts";
import { TABLES_SQL } from "./tables.ts";

/**
 * The schema, as the steps that made it. A step is never changed once it is published: a later one changes what it left.
 *
 * Functions have the number of the step that made them in their names, and stay when a later one brings others. So processes
 * of the release before go on beside those of this one, as long as a step only adds.
 */
const MIGRATIONS: readonly string[] = [
  `${TABLES_SQL}${COMMIT_SQL}${ROWS_SQL}${WORKER_SQL}${PRUNE_SQL}`,
  BEAT_SQL,
  CLAIM_NEWEST_SQL,
  CLAIM_OF_MANY_SQL,
  OWNERS_SQL,
  DOCUMENTS_SQL,
  APPEND_SQL,
  READING_SQL,
  LOADING_SQL,
  JOURNAL_SQL,
  COLUMNS_SQL,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Code that knows this version, or a newer one, can work on what the steps leave. */
const OLDEST = 10;

const SCHEMA_SQL = `CREATE SCHEMA IF NOT EXISTS @;
CREATE TABLE IF NOT EXISTS @.migrations (version integer PRIMARY KEY, oldest integer NOT NULL)`;

/** What the schema says of itself: its version, and the oldest version of the code that can work on it. */
interface SchemaState {
  readonly version: number;
  readonly oldest: number;
}

const NO_SCHEMA: SchemaState = { version: 0, oldest: 0 };

/** Brings the schema to the version that this code knows, one process at a time. One that is newer is used as it is. */
export async function migrate(database: Database): Promise<void> {
  await database.use(async (connection) => {
    const state = await schemaState(database, connection);
    if (state.oldest > SCHEMA_VERSION) {
      throw unsupported(
        `the schema ${database.schema} is for releases from schema version ${state.oldest} on, and this one knows ${SCHEMA_VERSION}; use a newer release`,
      );
    }
    if (state.version >= SCHEMA_VERSION) return;
    await connection.query("BEGIN");
    try {
      await connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 20261116))", [
        `pawl ${database.schema}`,
      ]);
      await connection.query(SCHEMA_SQL);
      const { version } = await schemaState(database, connection);
      for (const [index, migration] of MIGRATIONS.entries()) {
        if (index < version) continue;
        await connection.query(migration);
        await connection.query("INSERT INTO @.migrations (version, oldest) VALUES ($1, $2)", [index + 1, OLDEST]);
      }
      await connection.query("COMMIT");
    } catch (error) {
      await connection.rollBack();
      throw error;
    }
  });
}

async function schemaState(database: Database, connection: Connection): Promise<SchemaState> {
  const table = database.sql("@.migrations");
  const found = await connection.call("SELECT (to_regclass($1) IS NOT NULL)::text AS json", [table]);
  if (found !== true) return NO_SCHEMA;
  const text =
    "SELECT json_build_object('version', max(version), 'oldest', max(oldest))::text AS json FROM @.migrations";
  const state = (await connection.call(text, [])) as { readonly [name in keyof SchemaState]: number | null };
  return { version: state.version ?? 0, oldest: state.oldest ?? 0 };
}

const SETTINGS_SQL = `SELECT json_build_object('version', current_setting('server_version_num')::integer,
  'commit', current_setting('synchronous_commit'), 'replica', pg_is_in_recovery(),
  'encoding', current_setting('server_encoding'), 'isolation', current_setting('default_transaction_isolation'))::text AS json`;

const VERSION_MIN = 130_000;

/** Refuses a server that would lose what it has said to have committed, or that can't do the work. */
export async function checkServer(database: Database, options: { readonly allowAsyncCommit: boolean }): Promise<void> {
  const { version, commit, replica, encoding, isolation } = (await database.call(SETTINGS_SQL, [])) as {
    readonly version: number;
    readonly commit: string;
    readonly replica: boolean;
    readonly encoding: string;
    readonly isolation: string;
  };
  if (version < VERSION_MIN)
    throw unsupported(`PostgreSQL ${Math.floor(version / 10_000)} is too old; use 13 or newer`);
  if (encoding !== "UTF8") throw unsupported(`the database has the encoding ${encoding}; make one with UTF8`);
  if (replica) throw unsupported("the server is a replica and only reads; connect to the primary");
  if (isolation !== "read committed") {
    throw unsupported(
      `default_transaction_isolation is ${isolation}; set it to read committed, on the server, for the database or for the user`,
    );
  }
  if (commit === "off" && !options.allowAsyncCommit) {
    throw unsupported(
      "synchronous_commit is off: commits that were answered are lost when the server dies; turn it on, or set allowAsyncCommit",
    );
  }
}

function unsupported(text: string): PawlError {
  return new PawlError("STORE_UNSUPPORTED", text);
}
