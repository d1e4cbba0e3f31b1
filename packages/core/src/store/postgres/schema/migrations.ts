import { PawlError } from "../../../model/errors.ts";
import type { Connection, Database } from "../database.ts";
import { COMMIT_SQL } from "./commit.ts";
import { OWNERSHIP_SQL } from "./ownership.ts";
import { PRUNE_SQL } from "./prune.ts";
import { READS_SQL } from "./reads.ts";
import { TABLES_SQL } from "./tables.ts";

interface Migration {
  readonly sql: string;
  /** The oldest schema version whose code can use the schema after this migration. */
  readonly compatibleFrom: number;
}

/**
 * The steps that make the schema. Step 1 is version 1 of the schema.
 *
 * A published migration never changes; a later one changes its result. A later migration that changes a function creates it under a new
 * name, so processes of the previous release keep working while the new one is rolled out.
 */
const MIGRATIONS: readonly Migration[] = [
  { sql: [TABLES_SQL, COMMIT_SQL, READS_SQL, OWNERSHIP_SQL, PRUNE_SQL].join(""), compatibleFrom: 1 },
];

const SCHEMA_VERSION = MIGRATIONS.length;

const SCHEMA_SQL = `CREATE SCHEMA IF NOT EXISTS @;
CREATE TABLE IF NOT EXISTS @.migrations (version integer PRIMARY KEY, compatible_from integer NOT NULL)`;

/** The stored version of the schema, and the oldest version whose code can use it. */
interface SchemaState {
  readonly version: number;
  readonly compatibleFrom: number;
}

const NO_SCHEMA: SchemaState = { version: 0, compatibleFrom: 0 };

/**
 * Applies the migrations that the schema does not have, one process at a time. A newer schema is used unchanged if it is compatible with
 * this code, and rejected otherwise.
 */
export async function migrate(database: Database): Promise<void> {
  await database.use(async (connection) => {
    const state = await schemaState(database, connection);
    checkCompatible(database.schema, state.compatibleFrom);
    if (state.version >= SCHEMA_VERSION) return;
    await connection.query("BEGIN");
    try {
      await connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 20261116))", [
        `pawl ${database.schema}`,
      ]);
      // Reading a table makes the connection's catalog cache current. Without it, CREATE SCHEMA IF NOT EXISTS fails if another process
      // has created the schema while this one waited for the lock.
      await connection.query("SELECT 1 FROM pg_namespace WHERE false");
      await connection.query(SCHEMA_SQL);
      const { version } = await schemaState(database, connection);
      for (const [index, { sql, compatibleFrom }] of MIGRATIONS.entries()) {
        if (index < version) continue;
        await connection.query(sql);
        const row = [index + 1, compatibleFrom];
        await connection.query("INSERT INTO @.migrations (version, compatible_from) VALUES ($1, $2)", row);
      }
      await connection.query("COMMIT");
    } catch (error) {
      await connection.rollBack();
      throw error;
    }
  });
}

/** Throws STORE_UNSUPPORTED if a newer release has changed the schema in a way that this code cannot use. */
export function checkCompatible(schema: string, compatibleFrom: number): void {
  if (compatibleFrom <= SCHEMA_VERSION) return;
  throw unsupported(
    `schema ${schema} needs a release with schema version ${compatibleFrom}; this release has ${SCHEMA_VERSION}; use a newer release`,
  );
}

async function schemaState(database: Database, connection: Connection): Promise<SchemaState> {
  const table = database.sql("@.migrations");
  const found = await connection.call("SELECT (to_regclass($1) IS NOT NULL)::text AS json", [table]);
  if (found !== true) return NO_SCHEMA;
  const text =
    "SELECT json_build_object('version', max(version), 'compatibleFrom', max(compatible_from))::text AS json FROM @.migrations";
  const state = (await connection.call(text, [])) as { readonly [name in keyof SchemaState]: number | null };
  return { version: state.version ?? 0, compatibleFrom: state.compatibleFrom ?? 0 };
}

const SETTINGS_SQL = `SELECT json_build_object('version', current_setting('server_version_num')::integer,
  'commit', current_setting('synchronous_commit'), 'replica', pg_is_in_recovery(),
  'encoding', current_setting('server_encoding'), 'isolation', current_setting('default_transaction_isolation'))::text AS json`;

const VERSION_MIN = 130_000;

/** Rejects a server that may lose acknowledged commits, or that the store cannot use. */
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
  if (encoding !== "UTF8") throw unsupported(`the database has encoding ${encoding}; use one with encoding UTF8`);
  if (replica) throw unsupported("the server is a read-only replica; connect to the primary");
  if (isolation !== "read committed") {
    throw unsupported(
      `default_transaction_isolation is ${isolation}; set it to read committed, on the server, for the database or for the user`,
    );
  }
  if (commit === "off" && !options.allowAsyncCommit) {
    throw unsupported(
      "synchronous_commit is off: acknowledged commits are lost when the server crashes; turn it on, or set allowAsyncCommit",
    );
  }
}

function unsupported(text: string): PawlError {
  return new PawlError("STORE_UNSUPPORTED", text);
}
