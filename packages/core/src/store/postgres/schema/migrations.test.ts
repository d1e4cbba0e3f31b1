import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../../testing/postgres-database.ts";
import { expectSavedDatabase, fillDatabase, withoutPaths } from "../../../testing/saved-database.ts";
import { ManualWorld } from "../../../testing/store-contract/manual-world.ts";
import { watchedPool } from "../../../testing/watched-pool.ts";
import { postgresStore } from "../index.ts";

/** Tables, functions and rows of the first format. This file never changes; each later format gets a file. */
const FORMAT_1 = new URL("../fixtures/format-1.sql", import.meta.url);

/** The schema that the file names. */
const SAVED_SCHEMA = "pawl_format_1";

const postgres = await freshPostgres();

describe.runIf(postgres !== null)("the schema in PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  /** A schema that is dropped after the test. */
  function ownSchema(purpose: string): string {
    const schema = `pawl_${process.pid}_${purpose}`;
    return dropAfter(schema);
  }

  function dropAfter(schema: string): string {
    onTestFinished(async () => void (await execute(fixture.pool, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)));
    return schema;
  }

  /** The statements that fill the tables of a schema. */
  async function dumpRows(schema: string): Promise<string> {
    const names = await execute(
      fixture.pool,
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}' ORDER BY tablename`,
    );
    const lines: string[] = [];
    for (const { name } of names as { readonly name: string }[]) {
      const rows = await execute(fixture.pool, `SELECT to_json(t)::text AS json FROM ${schema}.${name} t`);
      for (const { json } of rows as { readonly json: string }[]) {
        const row = json.replaceAll("'", "''");
        const into = `"${schema}".${name}`;
        lines.push(`INSERT INTO ${into} SELECT * FROM json_populate_record(NULL::${into}, '${row}');`);
      }
    }
    const [last] = await execute(fixture.pool, `SELECT last_value::text AS value FROM ${schema}.positions`);
    lines.push(`SELECT setval('"${schema}".positions', ${(last as { readonly value: string }).value});`);
    return `${lines.join("\n")}\n`;
  }

  it.runIf(process.env.PAWL_SAVE_FORMAT === "postgres")("a database of the current format is saved", async () => {
    const schema = dropAfter(SAVED_SCHEMA);
    const statements: string[] = [];
    const pool = watchedPool(fixture.pool, (text) => void statements.push(text));
    const engine = await fillDatabase(postgresStore(pool, { schema, listen: false }));
    const made = statements.filter((text) => text.trimStart().startsWith("CREATE")).map((text) => `${text.trim()};`);
    const tables = made.join("\n").replaceAll(/;+$/gm, ";");
    if (!existsSync(new URL(".", FORMAT_1))) mkdirSync(new URL(".", FORMAT_1));
    writeFileSync(FORMAT_1, withoutPaths(`${tables}\n${await dumpRows(schema)}`), { flag: "wx" });
    await engine.shutdown();
  });

  it("a saved database of the first format is read, and its suspended runs continue", async () => {
    const schema = dropAfter(SAVED_SCHEMA);
    await execute(fixture.pool, readFileSync(FORMAT_1, "utf8"));
    await expectSavedDatabase(async () => postgresStore(fixture.pool, { schema, listen: false }));
  });

  it("processes that open a new schema concurrently create it once", async () => {
    const schema = ownSchema("race");
    const stores = Array.from({ length: 5 }, () => postgresStore(fixture.pool, { schema, listen: false }));
    await Promise.all(stores.map((store) => store.open(new ManualWorld(0))));
    const [row] = await execute(fixture.pool, `SELECT count(*) = max(version) AS once FROM ${schema}.migrations`);
    expect(row).toEqual({ once: true });
  });

  it("a newer schema is used if it is compatible with this release, and rejected otherwise", async () => {
    const schema = ownSchema("newer");
    const open = async (): Promise<void> => {
      const store = postgresStore(fixture.pool, { schema, listen: false });
      await store.open(new ManualWorld(0));
    };
    await open();
    await execute(fixture.pool, `INSERT INTO ${schema}.migrations VALUES (99, 1)`);
    await open();
    await execute(fixture.pool, `UPDATE ${schema}.migrations SET compatible_from = 99 WHERE version = 99`);
    await expect(open()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  });

  it("a heartbeat is rejected after a newer release has raised the schema, and accepted if the schema stays compatible", async () => {
    const schema = ownSchema("raised");
    const store = postgresStore(fixture.pool, { schema, listen: false });
    await store.open(new ManualWorld(0));
    await store.heartbeat("w", 1_000);
    await execute(fixture.pool, `INSERT INTO ${schema}.migrations VALUES (99, 1)`);
    expect(await store.heartbeat("w", 1_000)).toMatchObject({ alive: true, freed: 0 });
    await execute(fixture.pool, `UPDATE ${schema}.migrations SET compatible_from = 99 WHERE version = 99`);
    await expect(store.heartbeat("w", 1_000)).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringContaining("needs a release with schema version 99"),
    });
  });
});
