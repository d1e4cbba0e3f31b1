import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { expectSavedDatabase, fillDatabase, withoutPaths } from "../../testing/saved-database.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { findDriver, type SqliteDatabase } from "./driver.ts";
import { sqliteStore } from "./index.ts";
import { migrate } from "./migrations.ts";

/** Tables and rows of the first format. This file never changes; each later format gets a file. */
const FORMAT_1 = new URL("./fixtures/format-1.sql", import.meta.url);

async function database(sql = ""): Promise<SqliteDatabase> {
  const Driver = await findDriver();
  const opened = new Driver(":memory:");
  opened.exec(sql);
  return opened;
}

function schemaOf(opened: SqliteDatabase): unknown[] {
  return opened.prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").all();
}

/** Returns the statements that create this database. */
function dump(opened: SqliteDatabase): string {
  const made = opened.prepare("SELECT type, name, sql FROM sqlite_master WHERE name LIKE 'pawl%' AND sql IS NOT NULL");
  const parts = made.all() as { readonly type: string; readonly name: string; readonly sql: string }[];
  const lines = parts.toSorted((left, right) => (left.type < right.type ? 1 : -1)).map(({ sql }) => `${sql};`);
  const quoted = (value: unknown): string =>
    typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : value === null ? "NULL" : String(value);
  for (const { name } of parts.filter(({ type }) => type === "table")) {
    for (const row of opened.prepare(`SELECT * FROM ${name}`).all() as object[]) {
      const columns = Object.keys(row).join(", ");
      lines.push(`INSERT INTO ${name} (${columns}) VALUES (${Object.values(row).map(quoted).join(", ")});`);
    }
  }
  return `${lines.join("\n")}\n`;
}

it.runIf(process.env.PAWL_SAVE_FORMAT === "sqlite")("a database of the current format is saved", async () => {
  const made = await database();
  const engine = await fillDatabase(sqliteStore(made));
  writeFileSync(FORMAT_1, withoutPaths(dump(made)), { flag: "wx" });
  await engine.shutdown();
});

it("a saved database of the first format is read, and its suspended runs continue", async () => {
  const saved = await database(readFileSync(FORMAT_1, "utf8"));
  await expectSavedDatabase(async () => sqliteStore(saved));
});

it("a saved database of the first format gets the schema of a fresh database", async () => {
  const [fresh, saved] = [await database(), await database(readFileSync(FORMAT_1, "utf8"))];
  migrate(fresh);
  migrate(saved);
  expect(schemaOf(saved)).toEqual(schemaOf(fresh));
  migrate(saved);
  expect(schemaOf(saved)).toEqual(schemaOf(fresh));
});

it("a database with a newer schema is rejected unchanged", async () => {
  const newer = await database(
    "CREATE TABLE pawl_schema (version INTEGER NOT NULL); INSERT INTO pawl_schema VALUES (99)",
  );
  const before = schemaOf(newer);
  expect(() => migrate(newer)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
  expect(schemaOf(newer)).toEqual(before);
});

it("stores that open a new file concurrently create its schema once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const stores = Array.from({ length: 5 }, () => sqliteStore(join(folder, "app.db")));
  await Promise.all(stores.map((store) => store.open(new ManualWorld(0))));
  await Promise.all(stores.map((store) => store.close()));
  const Driver = await findDriver();
  const opened = new Driver(join(folder, "app.db"));
  expect(opened.prepare("SELECT count(*) AS rows, max(version) AS version FROM pawl_schema").all()).toEqual([
    expect.objectContaining({ rows: 1, version: 1 }),
  ]);
  opened.close();
});
