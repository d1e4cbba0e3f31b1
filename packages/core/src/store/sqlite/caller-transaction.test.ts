import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type Engine, workflow } from "../../index.ts";
import type { RunHead } from "../../rules/tables.ts";
import { type VirtualWorld, virtualWorld } from "../../testing/virtual-world.ts";
import { pathOf, withinCaller } from "./caller-transaction.ts";
import { findDriver, type SqliteDatabase, type SqliteDriver } from "./driver.ts";
import { sqliteStore } from "./index.ts";
import type { SqliteTables } from "./sqlite-tables.ts";

const greet = workflow("greet", async (ctx, name: string) => ctx.step("say", () => `hello ${name}`));
const wait = workflow("wait", async (ctx) => [(await ctx.listen("go")).value, (await ctx.awaitEvent("news")).value]);

interface Bench {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  readonly Driver: SqliteDriver;
  readonly folder: string;
  readonly user: SqliteDatabase;
}

/** An engine on a file, and a separate connection to the same file. */
async function bench(shared?: SqliteDatabase): Promise<Bench> {
  const Driver = await findDriver();
  const folder = await mkdtemp(join(tmpdir(), "pawl-within-"));
  const path = join(folder, "app.db");
  const world = virtualWorld();
  const log = (): void => undefined;
  const engine = await createEngine({ store: sqliteStore(shared ?? path), workflows: [greet, wait], world, log });
  const user = shared ?? new Driver(path);
  user.exec("CREATE TABLE orders (id TEXT PRIMARY KEY)");
  onTestFinished(async () => {
    const stopped = engine.shutdown({ drainMs: 0 });
    await world.advance("1 s");
    await stopped;
    user.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { engine, world, Driver, folder, user };
}

const orders = ({ user }: Bench): number => user.prepare("SELECT id FROM orders").all().length;

describe("ops in the caller's SQLite transaction", () => {
  it("an op in the caller's transaction takes effect at its commit, and workers are notified", async () => {
    const { engine, world, user, ...rest } = await bench();
    const waiting = await engine.start(wait, undefined);
    await world.settle();
    user.exec("BEGIN IMMEDIATE");
    user.prepare("INSERT INTO orders VALUES (?)").run("o-1");
    const run = await engine.start(greet, "ann", { id: "g-1", tx: user });
    expect(await engine.send(waiting.id, "go", 1, { tx: user })).toEqual({ kind: "delivered" });
    expect(await engine.emit("news", 2, { tx: user })).toMatchObject({ kind: "queued" });
    expect(await engine.get("g-1")).toBe(null);
    expect(await waiting.status()).toBe("suspended");
    user.exec("COMMIT");
    await world.advance("1 s");
    expect(await run.result()).toBe("hello ann");
    expect(await waiting.result()).toEqual([1, 2]);
    expect(orders({ engine, world, user, ...rest })).toBe(1);
  });

  it("an op in the caller's transaction leaves no trace after its rollback", async () => {
    const scope = await bench();
    const { engine, world, user } = scope;
    const waiting = await engine.start(wait, undefined);
    await world.settle();
    user.exec("BEGIN IMMEDIATE");
    user.prepare("INSERT INTO orders VALUES (?)").run("o-1");
    await engine.start(greet, "ann", { id: "g-1", tx: user });
    await engine.send(waiting.id, "go", 1, { tx: user });
    await engine.emit("news", 2, { tx: user });
    user.exec("ROLLBACK");
    await world.advance("5 s");
    expect(await engine.get("g-1")).toBe(null);
    expect(await waiting.status()).toBe("suspended");
    await engine.send(waiting.id, "go", "later");
    await engine.emit("news", "later");
    await world.settle();
    expect(await waiting.result()).toEqual(["later", "later"]);
    expect(orders(scope)).toBe(0);
  });

  it("an op can use the connection that was passed to the store", async () => {
    const Driver = await findDriver();
    const { engine, world, user } = await bench(new Driver(":memory:"));
    const waiting = await engine.start(wait, undefined);
    await world.settle();
    for (const end of ["ROLLBACK", "COMMIT"]) {
      user.exec("BEGIN IMMEDIATE");
      const sent = engine.send(waiting.id, "go", end, { tx: user });
      const started = engine.start(greet, end, { id: `g-${end}`, tx: user });
      user.exec(end);
      expect(await sent).toEqual({ kind: "delivered" });
      await started;
    }
    await engine.emit("news", 2);
    await world.advance("2 s");
    expect(await waiting.result()).toEqual(["COMMIT", 2]);
    expect([await engine.get("g-ROLLBACK"), (await engine.get("g-COMMIT"))?.status]).toEqual([null, "completed"]);
  });

  it("the engine keeps working while the caller has a transaction open on the store's connection", async () => {
    const Driver = await findDriver();
    const { engine, world, user } = await bench(new Driver(":memory:"));
    user.exec("BEGIN IMMEDIATE");
    user.prepare("INSERT INTO orders VALUES ('o-1')").run();
    const started = engine.start(greet, "bob");
    await world.settle();
    user.exec("COMMIT");
    await world.advance("1 s");
    expect(await (await started).result()).toBe("hello bob");
    expect(user.prepare("SELECT id FROM orders").all()).toHaveLength(1);
  });

  it("a start with a known id is answered as usual, and two starts of one id in one transaction are one", async () => {
    const { engine, world, user } = await bench();
    await engine.start(greet, "ann", { id: "g-1" });
    await world.settle();
    user.exec("BEGIN IMMEDIATE");
    expect((await engine.start(greet, "ann", { id: "g-1", tx: user })).id).toBe("g-1");
    await expect(engine.start(greet, "bob", { id: "g-1", tx: user })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await engine.start(greet, "eve", { id: "g-2", tx: user });
    await expect(engine.start(greet, "eve", { id: "g-2", tx: user })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    user.exec("COMMIT");
    await world.advance("1 s");
    expect(await engine.run("g-2").result()).toBe("hello eve");
  });

  it("a failed op leaves nothing behind for the next one", async () => {
    const { user } = await bench();
    const path = pathOf(user);
    const row = (): unknown => user.prepare("SELECT count(*) AS n FROM pawl_inbox").get();
    user.exec("BEGIN IMMEDIATE");
    const fail = ({ inbox }: SqliteTables): void => {
      const rest = { kind: "message", id: "m", name: "go", value: null, status: null, at: 0 } as const;
      inbox.add({ key: 1, id: "r" } as RunHead, { n: 1, ...rest, onTargetTerminated: "discard" });
      throw new Error("it fails");
    };
    expect(() => withinCaller(user, { database: user, path }, fail)).toThrow("it fails");
    withinCaller(user, { database: user, path }, () => undefined);
    user.exec("COMMIT");
    expect(row()).toMatchObject({ n: 0 });
  });

  it("an op on a wrong connection is rejected with a code and changes nothing", async () => {
    const { engine, Driver, folder, user } = await bench();
    const other = new Driver(join(folder, "other.db"));
    const memory = new Driver(":memory:");
    onTestFinished(() => {
      other.close();
      memory.close();
    });
    other.exec("BEGIN");
    memory.exec("BEGIN");
    const options = { id: "g-1" };
    const wrong = { code: "TX_INVALID" };
    const start = (tx: unknown) => engine.start(greet, "ann", { ...options, tx: tx as SqliteDatabase });
    await expect(start(user)).rejects.toMatchObject({ ...wrong, message: /no open transaction/ });
    await expect(start(other)).rejects.toMatchObject({
      ...wrong,
      message: /other\.db; use one to the store's database, .*app\.db/,
    });
    await expect(start(memory)).rejects.toMatchObject({ ...wrong, message: /a database in memory/ });
    await expect(start({})).rejects.toMatchObject({ ...wrong, message: /no method `prepare`/ });
    await expect(start(null)).rejects.toMatchObject(wrong);
    const odd = { prepare: () => ({ run: () => 0, get: () => ({ one: 1n }), all: () => [] }) };
    await expect(start(odd)).rejects.toMatchObject({ ...wrong, message: /another form/ });
    expect(await engine.get("g-1")).toBe(null);
    // None of them has got a transaction that it did not have.
    user.exec("BEGIN");
    user.exec("ROLLBACK");
    other.exec("ROLLBACK");
    memory.exec("ROLLBACK");
  });

  it("an op in a read-only transaction is rejected and leaves nothing to commit", async () => {
    const { engine, user, Driver, folder } = await bench();
    user.exec("BEGIN");
    user.prepare("SELECT count(*) FROM orders").get();
    const third = new Driver(join(folder, "app.db"));
    onTestFinished(() => void third.close());
    third.exec("INSERT INTO orders VALUES ('o-3')");
    await expect(engine.start(greet, "ann", { id: "g-1", tx: user })).rejects.toMatchObject({ code: "TX_INVALID" });
    user.exec("COMMIT");
    expect(await engine.get("g-1")).toBe(null);
  });

  it("an op is rolled back as a whole if a part of it fails", async () => {
    const { engine, user } = await bench();
    user.exec("CREATE TRIGGER no_tags BEFORE INSERT ON pawl_tags BEGIN SELECT RAISE(ABORT, 'no tags'); END");
    user.exec("BEGIN IMMEDIATE");
    await expect(engine.start(greet, "ann", { id: "g-1", tags: ["a"], tx: user })).rejects.toThrow("no tags");
    user.exec("COMMIT");
    expect(await engine.get("g-1")).toBe(null);
  });

  it("invalid input is rejected as usual, and the transaction continues", async () => {
    const { engine, world, user } = await bench();
    user.exec("BEGIN IMMEDIATE");
    const bad = engine.start(greet, (() => 1) as unknown as string, { tx: user });
    await expect(bad).rejects.toMatchObject({ code: "PAYLOAD_UNSUPPORTED" });
    await engine.start(greet, "ann", { id: "g-1", tx: user });
    user.exec("COMMIT");
    await world.advance("1 s");
    expect(await engine.run("g-1").result()).toBe("hello ann");
  });
});
