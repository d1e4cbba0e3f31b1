import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { open } from "lmdb";
import { expect, it, onTestFinished } from "vitest";
import { expectSavedDatabase, fillDatabase, withoutPaths } from "../../testing/saved-database.ts";
import type { KvDriver, KvEntry } from "./kv-driver.ts";
import { KvStore } from "./kv-store.ts";
import { lmdbNamespaces } from "./lmdb-namespaces.ts";
import { memoryDriver } from "./memory-driver.ts";
import { sqliteNamespaces } from "./sqlite-namespaces.ts";
import { decodeTuple } from "./tuple.ts";

/** The entries of a namespace in the first format, as pairs of a key in hex and a value. This file never changes; each later format gets a file. */
const FORMAT_1 = new URL("./fixtures/format-1.jsonl", import.meta.url);

function savedEntries(): readonly KvEntry[] {
  const lines = readFileSync(FORMAT_1, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [key, value] = JSON.parse(line) as readonly [string, string];
    return { key: Buffer.from(key, "hex"), value: Buffer.from(value) };
  });
}

function dump(entries: readonly KvEntry[]): string {
  const pairs = entries.map(({ key, value }) => [Buffer.from(key).toString("hex"), Buffer.from(value).toString()]);
  return withoutPaths(`${pairs.map((pair) => JSON.stringify(pair)).join("\n")}\n`);
}

/** The kinds of entries: the types of the items of their keys, and the fields and types of their values. */
function formatOf(entries: readonly KvEntry[]): readonly string[] {
  const kinds = entries.map(({ key, value }) => {
    const [table, ...rest] = decodeTuple(key);
    return JSON.stringify([table, rest.map((item) => typeof item), shapeOf(JSON.parse(Buffer.from(value).toString()))]);
  });
  return [...new Set(kinds)].sort();
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.entries(value)
    .sort()
    .map(([name, field]) => [name, shapeOf(field)]);
}

async function filledDriver() {
  const driver = memoryDriver();
  const engine = await fillDatabase(new KvStore(driver, "saved"));
  return { driver, engine };
}

it.runIf(process.env.PAWL_SAVE_FORMAT === "kv")("a namespace of the current format is saved", async () => {
  const { driver, engine } = await filledDriver();
  writeFileSync(FORMAT_1, dump(driver.entries()), { flag: "wx" });
  await engine.shutdown();
});

it("a new namespace has the kinds of entries that the saved namespace of the first format has", async () => {
  const { driver, engine } = await filledDriver();
  const format = formatOf(driver.entries());
  await engine.shutdown();
  expect(format).toEqual(formatOf(savedEntries()));
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "pawl-saved-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function lmdbDriver(): KvDriver {
  const path = join(folder(), "data");
  const database = open<Uint8Array, Uint8Array>({ path, keyEncoding: "binary", encoding: "binary" });
  onTestFinished(() => database.close());
  return lmdbNamespaces(database).driver("saved");
}

function sqliteDriver(): KvDriver {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  return sqliteNamespaces(database).driver("saved");
}

it.each([
  ["memory", () => memoryDriver()],
  ["LMDB", lmdbDriver],
  ["SQLite", sqliteDriver],
] as const)(
  "a saved namespace of the first format is read with the %s driver, and its suspended runs continue",
  async (_name, create) => {
    const driver = create();
    await driver.batch(savedEntries());
    await expectSavedDatabase(async () => new KvStore(driver, "saved"), { workers: "inProcess" });
  },
);
