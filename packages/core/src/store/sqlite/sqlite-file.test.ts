import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  append,
  control,
  create,
  document,
  message,
  post,
  record,
  records,
} from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { StoreError } from "../store-error.ts";
import { checkVersion, findDriver, isSupported, type SqliteDatabase, type SqliteStatement } from "./driver.ts";
import { sqliteStore } from "./index.ts";
import { RUN_SQL } from "./run-table.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { SqliteStore } from "./sqlite-store.ts";

const world = new ManualWorld(1_700_000_000_000);
let folder = "";
let path = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-"));
  path = join(folder, "store.db");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function rawDatabase(): Promise<SqliteDatabase> {
  const Driver = await findDriver();
  return new Driver(path);
}

async function failureOf(
  promise: Promise<unknown>,
): Promise<Error & { readonly code?: string; readonly outcome?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it did not fail");
}

it("a SQLite library older than 3.51.3 is rejected", () => {
  for (const version of ["3.51.3", "3.51.10", "3.52.0", "4.0.0"]) expect(isSupported(version), version).toBe(true);
  for (const version of ["3.51.2", "3.50.9", "3.7.17", "2.99.99", ""])
    expect(isSupported(version), version).toBe(false);
  const statement = {
    get: () => ({ version: "3.46.1" }),
    run: () => ({ changes: 0, lastInsertRowid: 0 }),
    all: () => [],
  };
  const database = { exec: () => undefined, prepare: () => statement, close: () => undefined };
  expect(() => checkVersion(database)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
});

it("the error about a missing driver names the package to install", async () => {
  const error = await failureOf(findDriver(["node:no-such-sqlite", "no-such-sqlite-driver"]));
  expect(error.code).toBe("STORE_UNSUPPORTED");
  expect(error.message).toContain("no-such-sqlite-driver is not there");
  expect(error.message).toContain("install the package @photostructure/sqlite");
});

it("a newer schema is rejected and left unchanged", async () => {
  const store = sqliteStore(path);
  await store.open(world);
  await store.close();
  const raw = await rawDatabase();
  raw.exec("UPDATE pawl_schema SET version = 99");
  const error = await failureOf(sqliteStore(path).open(world));
  expect(error.code).toBe("STORE_UNSUPPORTED");
  expect(raw.prepare("SELECT version FROM pawl_schema").get()).toMatchObject({ version: 99 });
  raw.close();
});

it("an unreadable file and a file that is not a database are rejected with a code", async () => {
  expect(await failureOf(sqliteStore(join(folder, "none", "store.db")).open(world))).toMatchObject({
    code: "STORE_UNAVAILABLE",
    outcome: "notApplied",
  });
  expect(await failureOf(sqliteStore(folder).open(world))).toBeInstanceOf(StoreError);
});

it("invalid options are rejected", () => {
  for (const options of [{ pollMs: 0 }, { pollMs: 1.5 }, { walBytesMax: -1 }, { walBytesMax: Number.NaN }]) {
    expect(() => sqliteStore(path, options)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  }
  expect(() => sqliteStore(path, { synchronous: "OFF" as "FULL" })).toThrow("OFF");
});

it("WAL and full synchronisation are the defaults", async () => {
  for (const [synchronous, level] of [
    ["FULL", 2],
    ["NORMAL", 1],
  ] as const) {
    const database = await rawDatabase();
    const store = sqliteStore(database, { synchronous });
    await store.open(world);
    expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: level });
    await store.close();
    database.close();
  }
});

it("a database opened by the caller, in a file or in memory, is used and stays open", async () => {
  const Driver = await findDriver();
  const database = new Driver(":memory:");
  const store = sqliteStore(database);
  await store.open(world);
  await store.commit([create("r")]);
  await store.close();
  expect(database.prepare("SELECT count(*) AS count FROM pawl_runs").get()).toMatchObject({ count: 1 });
  expect(await failureOf(store.commit([create("s")]))).toMatchObject({ code: "STORE_UNAVAILABLE" });
});

it("two stores over one open database see each other's changes and fence each other", async () => {
  const database = await rawDatabase();
  const [a, b] = [sqliteStore(database), sqliteStore(database)];
  await a.open(world);
  await b.open(world);
  await a.commit([create("r", { owner: "w" }), append("r", { records: [record(1)] })]);
  await b.commit([control("r", { state: { status: "paused", reason: null } }), create("s", { owner: "w" })]);
  const [fenced, appended] = (
    await a.commit([append("r", { records: [record(2)] }), append("s", { records: [record(1)] })])
  ).answers;
  expect([fenced, appended]).toMatchObject([
    { reason: "fenced", epoch: 2 },
    { kind: "applied", again: false },
  ]);
  expect((await b.commit([append("s", { records: [record(1)] })])).answers).toMatchObject([{ again: true }]);
  database.close();
});

it("a full disk fails a whole batch, and the store works again when there is space", async () => {
  const database = await rawDatabase();
  const store = sqliteStore(database);
  await store.open(world);
  await store.commit([create("r", { owner: "w" }), append("r", { records: records(1, 10) })]);
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { page_count: number };
  database.exec(`PRAGMA max_page_count = ${pages + 20}`);
  const large = "x".repeat(200_000);
  const tooLarge = [append("r", { records: [record(11)] }), post(message("r", "m", { value: large })), create("s")];
  expect(await failureOf(store.commit(tooLarge))).toMatchObject({ code: "STORE_FULL", outcome: "notApplied" });
  expect(await store.load("r")).toMatchObject({ records: { length: 10 }, inbox: [], run: { inboxLast: 0 } });
  expect(await store.reader.get("s")).toBe(null);
  const { answers } = await store.commit([append("r", { records: [record(11)] })]);
  expect(answers).toEqual([{ kind: "applied", post: null, again: false }]);
  database.exec("PRAGMA max_page_count = 1000000");
  await store.commit([post(message("r", "m", { value: large })), create("s")]);
  expect(await store.load("r")).toMatchObject({ records: { length: 11 }, inbox: [{ value: large }] });
  await store.close();
  database.close();
});

it("a busy file fails a batch with outcome notApplied, and the store works again when the file is free", async () => {
  const store = sqliteStore(path);
  await store.open(world);
  const other = await rawDatabase();
  other.exec("BEGIN IMMEDIATE");
  expect(await failureOf(store.commit([create("r")]))).toMatchObject({ code: "STORE_BUSY", outcome: "notApplied" });
  expect(await store.reader.get("r")).toBe(null);
  other.exec("COMMIT");
  await store.commit([create("r")]);
  expect((await store.reader.get("r"))?.id).toBe("r");
  other.close();
  await store.close();
});

it("a log that has grown during a long read is truncated after the read", async () => {
  const walBytesMax = 1_000_000;
  const store = sqliteStore(path, { walBytesMax, synchronous: "NORMAL" });
  await store.open(world);
  const put = (n: number) => ({ put: document("k", `d${n % 50}`, { body: "x".repeat(20_000) + n }) });
  const write = async (first: number, count: number) => {
    for (let n = first; n < first + count; n += 1) await store.commit([{ kind: "documents", documents: [put(n)] }]);
  };
  const reader = await rawDatabase();
  await write(0, 1);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM pawl_documents").get();
  await write(1, 200);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(2 * walBytesMax);
  reader.exec("COMMIT");
  await write(201, 200);
  expect(statSync(`${path}-wal`).size).toBeLessThan(3 * walBytesMax);
  reader.close();
  await store.close();
});

it("an I/O error in a commit leaves an unknown outcome, and the file is reopened", async () => {
  const Driver = await findDriver();
  let opened = 0;
  let failing = false;
  class FailingDriver implements SqliteDatabase {
    readonly #database: SqliteDatabase;
    constructor(file: string) {
      opened += 1;
      this.#database = new Driver(file);
    }
    exec(sql: string): unknown {
      return this.#database.exec(sql);
    }
    prepare(sql: string): SqliteStatement {
      const statement = this.#database.prepare(sql);
      if (sql !== "COMMIT") return statement;
      const run: SqliteStatement["run"] = (...values) => {
        if (failing) throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 1034 });
        return statement.run(...values);
      };
      return { run, get: (...values) => statement.get(...values), all: (...values) => statement.all(...values) };
    }
    close(): unknown {
      return this.#database.close();
    }
  }
  const options = { synchronous: "FULL", walBytesMax: 1_000_000, driver: async () => FailingDriver } as const;
  const store = new SqliteStore(new SqliteFile(path, options), 100);
  await store.open(world);
  await store.commit([create("r", { owner: "w" })]);
  failing = true;
  const error = await failureOf(store.commit([append("r", { records: [record(1)] })]));
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", outcome: "unknown" });
  failing = false;
  expect(opened).toBe(1);
  const { answers } = await store.commit([append("r", { records: [record(1)] })]);
  expect(answers).toEqual([{ kind: "applied", post: null, again: false }]);
  expect(opened).toBe(2);
  await store.close();
});

it("a bug in a batch is thrown unchanged, has no effect, and the store keeps working", async () => {
  const store = sqliteStore(path);
  await store.open(world);
  await store.commit([create("r", { owner: "w" })]);
  const gap = [create("s"), append("r", { records: [record(5)] })];
  expect((await failureOf(store.commit(gap))).message).toContain("does not follow");
  expect(await store.reader.get("s")).toBe(null);
  await store.commit([append("r", { records: [record(1)] })]);
  expect((await store.load("r"))?.records.length).toBe(1);
  await store.close();
});

it("every statement on runs uses an index", async () => {
  const store = sqliteStore(path);
  await store.open(world);
  const database = await rawDatabase();
  for (const [name, text] of Object.entries(RUN_SQL)) {
    const values = Array.from(text.matchAll(/\?/g), () => null);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { readonly detail: string }[];
    for (const { detail } of plan) {
      const scans =
        /^SCAN (r|p|c|pawl_\w+)/.test(detail) && !/USING (COVERING )?INDEX pawl_runs_claimable/.test(detail);
      expect(scans, `${name}: ${detail}`).toBe(false);
    }
  }
  const claim = database.prepare(`EXPLAIN QUERY PLAN ${RUN_SQL.claimable}`).all("order", 1, 1) as { detail: string }[];
  expect(claim.map(({ detail }) => detail)).toEqual([
    expect.stringContaining("INDEX pawl_runs_claimable (workflow=? AND version=? AND wake_at<?)"),
  ]);
  database.close();
  await store.close();
});

it("the file of a closed store is complete without its log", async () => {
  const store = sqliteStore(path);
  await store.open(world);
  await store.commit([create("kept")]);
  await store.close();
  expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  const copy = join(folder, "copy.db");
  copyFileSync(path, copy);
  const copied = sqliteStore(copy);
  await copied.open(world);
  expect((await copied.reader.get("kept"))?.id).toBe("kept");
  await copied.close();
});
