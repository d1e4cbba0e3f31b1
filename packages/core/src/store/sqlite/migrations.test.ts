import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  append,
  completed,
  event,
  message,
  post,
  record,
  suspended,
  T0,
} from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { findDriver, type SqliteDatabase } from "./driver.ts";
import { sqliteStore } from "./index.ts";
import { migrate, SCHEMA_VERSION } from "./migrations.ts";

/** Tables and rows as version 1 wrote them. They are never made anew. */
const VERSION_1 = readFileSync(new URL("./fixtures/version-1.sql", import.meta.url), "utf8");

async function saved(): Promise<SqliteDatabase> {
  const Driver = await findDriver();
  const database = new Driver(":memory:");
  database.exec(VERSION_1);
  return database;
}

function schemaOf(database: SqliteDatabase): unknown[] {
  return database.prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").all();
}

it("a fresh database and one that was migrated have the same schema", async () => {
  const Driver = await findDriver();
  const fresh = new Driver(":memory:");
  migrate(fresh);
  const old = await saved();
  migrate(old);
  expect(schemaOf(old)).toEqual(schemaOf(fresh));
  expect(old.prepare("SELECT version FROM pawl_schema").all()).toMatchObject([{ version: SCHEMA_VERSION }]);
  migrate(old);
  expect(schemaOf(old)).toEqual(schemaOf(fresh));
});

it("rows written by version 1 are read as they were", async () => {
  const store = sqliteStore(await saved());
  await store.open(new ManualWorld(T0));
  const { reader } = store;
  const { items } = await reader.list({ limit: 10 });
  expect(items.map(({ id, status, owner, epoch }) => [id, status, owner, epoch])).toEqual([
    ["suspended", "suspended", "w", 1],
    ["running", "running", "w", 1],
    ["pending", "pending", null, 1],
    ["paused", "paused", null, 2],
    ["holder", "suspended", "w", 1],
    ["completed", "completed", null, 1],
  ]);
  expect(await reader.get("pending")).toMatchObject({ tags: ["vip", "eu"], wakeAt: T0 + 60_000 });
  expect(await reader.get("completed")).toMatchObject({ outcome: '{"total":3}', endedAt: T0 });
  expect(await reader.get("suspended")).toMatchObject({
    parent: { runId: "running", location: "child", onClose: "cancel" },
    wait: {
      messages: ["approve"],
      topics: ["news", "weather"],
      children: true,
      until: T0 + 90_000,
      since: null,
      openCount: 1,
    },
  });
  expect(await reader.count({ tag: "vip" })).toBe(1);
  expect((await reader.deadLetters({ limit: 10 })).items.map(({ id, reason }) => [id, reason])).toEqual([
    ["nobody//lost", "targetNotFound"],
    ["e1", "overflow"],
  ]);
  expect((await reader.documents({ kind: "task", where: { a: "ann" }, limit: 10 })).items).toMatchObject([
    { id: "t1" },
  ]);
  expect(await reader.workers()).toEqual([{ id: "w", expiresAt: T0 + 60_000, workflows: [] }]);
});

it("a journal and an inbox written by version 1 are loaded as they were", async () => {
  const store = sqliteStore(await saved());
  await store.open(new ManualWorld(T0));
  const loaded = await store.load("running", 0);
  expect(loaded?.run.input).toBe("x".repeat(1500));
  expect(loaded?.records).toEqual([
    record(1),
    record(2, { kind: "sleep", outcome: "timedOut", attempts: 0, payload: null, detail: '{"until":5}' }),
    record(3, { outcome: "failed", attempts: 3 }),
    record(4, { kind: "listen" }),
  ]);
  expect(loaded?.inbox).toMatchObject([{ n: 2, id: "m2", name: "odd\0\ud800", onTargetTerminated: "deadLetter" }]);
  expect(Array.from((await store.load("running"))?.records ?? [], ({ seq }) => seq)).toEqual([3, 4]);
});

it("work goes on where version 1 left it", async () => {
  const store = sqliteStore(await saved());
  await store.open(new ManualWorld(T0));
  const answers = async (...batch: Parameters<typeof store.commit>[0]) => (await store.commit(batch)).answers;
  const applied = { kind: "applied", post: null, again: false };
  expect(await answers(append("running", { records: [record(5)] }))).toEqual([applied]);
  expect(await answers(append("running", { records: [record(5)] }))).toEqual([{ ...applied, again: true }]);
  expect(await answers(post(message("running", "m1")), post(event("orders", "dropped")))).toMatchObject([
    { post: { kind: "duplicate" } },
    { post: { kind: "duplicate" } },
  ]);
  expect((await store.commit([post(event("weather", "rain"))])).wakes).toMatchObject([
    { runId: "suspended", owner: "w" },
  ]);
  await store.commit([append("running", { state: suspended({ topics: ["orders"] }, 2) })]);
  expect((await store.reader.inbox("running")).map(({ id }) => id)).toEqual(["m2", "event:e2"]);
  await store.commit([append("holder", { turn: 2, state: completed() })]);
  await store.commit([append("suspended", { turn: 2, taken: [1], state: suspended({ topics: ["alone"] }, 1) })]);
  expect((await store.reader.inbox("suspended")).map(({ id }) => id)).toEqual(["event:held"]);
});
