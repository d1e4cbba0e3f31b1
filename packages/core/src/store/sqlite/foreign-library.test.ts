import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type Engine, workflow } from "../../index.ts";
import { foreignDriver } from "../../testing/foreign-sqlite.ts";
import { type VirtualWorld, virtualWorld } from "../../testing/virtual-world.ts";
import { findDriver, type SqliteDatabase, type SqliteDriver } from "./driver.ts";
import { openDatabase, type SqliteStore, sqliteStore } from "./index.ts";
import { isSameLibrary } from "./same-library.ts";

const greet = workflow("greet", async (ctx, name: string) => ctx.step("say", () => `hello ${name}`));

const Foreign = foreignDriver();
/** Linux shows the locks of a descriptor. On Windows, two libraries exclude each other. */
const isDetected = Foreign !== null && process.platform === "linux";

let path = "";

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-foreign-"));
  path = join(folder, "app.db");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

interface Scope {
  readonly engine: Engine;
  readonly store: SqliteStore;
  readonly world: VirtualWorld;
  readonly lines: unknown[];
  readonly broken: unknown[];
}

async function scope(): Promise<Scope> {
  const world = virtualWorld();
  const lines: unknown[] = [];
  const broken: unknown[] = [];
  const store = sqliteStore(path);
  const log = (level: string, text: string, fields: object): unknown => lines.push([level, text, fields]);
  const engine = await createEngine({ store, workflows: [greet], world, log });
  engine.on("engine.broken", ({ error }) => broken.push(error));
  onTestFinished(async () => {
    const stopped = engine.shutdown({ drainMs: 0 });
    await world.advance("20 s");
    await stopped;
  });
  return { engine, store, world, lines, broken };
}

function open(Driver: SqliteDriver | null): SqliteDatabase {
  if (Driver === null) throw new Error("there is no second library");
  const database = new Driver(path);
  onTestFinished(() => void database.close());
  return database;
}

const stopped = { code: "STORE_FOREIGN_DRIVER", message: expect.stringContaining("store.database()") };

describe.runIf(isDetected)("a second SQLite library in the store's process", () => {
  it("a run is not acknowledged while another library has a transaction open on the store's file", async () => {
    const { engine, world } = await scope();
    const user = open(Foreign);
    user.exec("CREATE TABLE orders (id TEXT); BEGIN IMMEDIATE; INSERT INTO orders VALUES ('o-1')");
    const started = engine.start(greet, "ann", { id: "g-1" });
    await expect(started).rejects.toMatchObject(stopped);
    await world.advance("20 s");
    user.exec("COMMIT");
    expect(user.prepare("SELECT id FROM orders").all()).toHaveLength(1);
  });

  it("a foreign library stops the engine within the store's poll interval, with one log line and one event", async () => {
    const { engine, world, lines, broken } = await scope();
    open(Foreign).exec("CREATE TABLE orders (id TEXT)");
    await world.advance("200 ms");
    expect(lines).toEqual([
      [
        "error",
        "engine stopped: store must not be used any more",
        { code: "STORE_FOREIGN_DRIVER", error: stopped.message },
      ],
    ]);
    expect(broken).toMatchObject([stopped]);
    await expect(engine.start(greet, "ann")).rejects.toMatchObject(stopped);
    await expect(engine.get("g-1")).rejects.toMatchObject(stopped);
    await expect(engine.list()).rejects.toMatchObject(stopped);
  });

  it("a caller that waits for a result gets the reason why the engine stopped", async () => {
    const { engine, world } = await scope();
    const sleeper = workflow("sleeper", async (ctx) => ctx.sleep("1 day"));
    await engine.register(sleeper);
    const run = await engine.start(sleeper, undefined);
    const ended = expect(run.result()).rejects.toMatchObject(stopped);
    await world.settle();
    open(Foreign).exec("CREATE TABLE orders (id TEXT)");
    await world.advance("1 s");
    await ended;
  });

  it("a store does not open a file that another library in this process has open", async () => {
    const { engine, world } = await scope();
    await engine.start(greet, "ann", { id: "g-1" });
    await world.settle();
    await engine.shutdown({ drainMs: 0 });
    const user = open(Foreign);
    user.prepare("SELECT count(*) FROM pawl_runs").get();
    const options = { store: sqliteStore(path), workflows: [greet], world: virtualWorld() };
    await expect(createEngine(options)).rejects.toMatchObject(stopped);
    user.exec("CREATE TABLE orders (id TEXT)");
    expect(user.prepare("SELECT id FROM pawl_runs").all()).toHaveLength(1);
  });

  it("a library that has closed the file again stops the engine before the next commit", async () => {
    const { engine } = await scope();
    const user = new (Foreign as SqliteDriver)(path);
    user.exec("CREATE TABLE orders (id TEXT)");
    user.close();
    await expect(engine.start(greet, "ann")).rejects.toMatchObject(stopped);
  });

  it("a program that reads the -shm file in the store's process stops the engine, because that removes its locks", async () => {
    const { engine } = await scope();
    readFileSync(`${path}-shm`);
    await expect(engine.start(greet, "ann")).rejects.toMatchObject(stopped);
  });

  it("a library that only reads another file does not disturb the engine", async () => {
    const { engine, world } = await scope();
    const other = new (Foreign as SqliteDriver)(`${path}.other`);
    other.exec("PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT)");
    const run = await engine.start(greet, "ann");
    await world.advance("1 s");
    other.close();
    expect(await run.result()).toBe("hello ann");
  });
});

describe("connections of the store's own library", () => {
  it("store.database() gives a connection whose transaction excludes the engine's commits", async () => {
    const { engine, store, world } = await scope();
    const user = await store.database();
    onTestFinished(() => void user.close());
    user.exec("CREATE TABLE orders (id TEXT); BEGIN IMMEDIATE; INSERT INTO orders VALUES ('o-1')");
    let isStarted = false;
    const started = engine.start(greet, "ann", { id: "g-1" }).then((run) => {
      isStarted = true;
      return run;
    });
    await world.settle();
    expect(isStarted).toBe(false);
    user.exec("COMMIT");
    await world.advance("5 s");
    expect(await (await started).result()).toBe("hello ann");
    expect(user.prepare("SELECT id FROM orders").all()).toHaveLength(1);
  });

  it("store.database() and openDatabase give connections that the tx option accepts", async () => {
    const { engine, store, world } = await scope();
    for (const [index, user] of [await store.database(), await openDatabase(path)].entries()) {
      onTestFinished(() => void user.close());
      user.exec("BEGIN IMMEDIATE");
      await engine.start(greet, "ann", { id: `g-${index}`, tx: user });
      user.exec("COMMIT");
      await world.advance("1 s");
      expect(await engine.run(`g-${index}`).result()).toBe("hello ann");
    }
  });

  it("connections for the caller commit durably with every driver, and wait for writers of other processes", async () => {
    await scope();
    const normal = await sqliteStore(path, { synchronous: "NORMAL" }).database();
    const full = await openDatabase(path);
    const settings = [full, normal].map((user) =>
      ["synchronous", "busy_timeout"].map(
        (name) => Object.values(user.prepare(`PRAGMA ${name}`).get() as Record<string, unknown>)[0],
      ),
    );
    expect(settings).toEqual([
      [2, 5_000],
      [1, 5_000],
    ]);
    normal.close();
    full.close();
  });

  it("a store over the caller's database has no database() and says what to do", async () => {
    const user = await openDatabase(path);
    onTestFinished(() => void user.close());
    await expect(sqliteStore(user).database()).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("many connections of the store's library do not stop the engine, opened before it, after it, or closed", async () => {
    const Driver = await findDriver();
    const early = open(Driver);
    early.exec("PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT)");
    const { engine, world } = await scope();
    for (let n = 0; n < 3; n += 1) {
      const user = new Driver(path);
      user.exec(`INSERT INTO orders VALUES ('o-${n}')`);
      user.close();
      const run = await engine.start(greet, "ann");
      await world.advance("1 s");
      expect(await run.result()).toBe("hello ann");
    }
    const second = await scope();
    await second.engine.shutdown({ drainMs: 0 });
    const run = await engine.start(greet, "bob");
    await world.advance("6 s");
    expect(await run.result()).toBe("hello bob");
  });
});

describe.runIf(Foreign !== null)("the tx option and a connection of another library", () => {
  it("a connection of another SQLite library is rejected with TX_FOREIGN_DRIVER and keeps its transaction", async () => {
    const { engine } = await scope();
    const user = open(Foreign);
    user.exec("CREATE TABLE orders (id TEXT); BEGIN IMMEDIATE; INSERT INTO orders VALUES ('o-1')");
    await expect(engine.start(greet, "ann", { id: "g-1", tx: user })).rejects.toMatchObject({
      code: "TX_FOREIGN_DRIVER",
      message: expect.stringContaining("store.database()"),
    });
    expect(user.prepare("SELECT count(*) AS n FROM pawl_runs").get()).toMatchObject({ n: 0 });
    user.exec("COMMIT");
    expect(user.prepare("SELECT id FROM orders").all()).toHaveLength(1);
  });

  it("a library is recognised through any object with a prepare method, and heap limits stay as they were", async () => {
    const Driver = await findDriver();
    const [own, other, foreign] = [
      new Driver(":memory:"),
      new Driver(":memory:"),
      new (Foreign as SqliteDriver)(":memory:"),
    ];
    const limits = (): unknown[] => [own, foreign].map((each) => each.prepare("PRAGMA soft_heap_limit").get());
    for (const limit of [0, 500_000_000]) {
      own.exec(`PRAGMA soft_heap_limit = ${limit}`);
      const before = limits();
      expect(isSameLibrary(own, own)).toBe(true);
      expect(isSameLibrary(own, other)).toBe(true);
      expect(isSameLibrary(own, { prepare: (sql) => other.prepare(sql) })).toBe(true);
      expect(isSameLibrary(own, foreign)).toBe(false);
      expect(limits()).toEqual(before);
    }
    own.exec("PRAGMA soft_heap_limit = 0");
    for (const each of [own, other, foreign]) each.close();
  });
});
