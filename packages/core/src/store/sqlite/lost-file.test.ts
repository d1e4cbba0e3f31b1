import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type Engine, workflow } from "../../index.ts";
import { type VirtualWorld, virtualWorld } from "../../testing/virtual-world.ts";
import { findDriver } from "./driver.ts";
import { sqliteStore } from "./index.ts";

const greet = workflow("greet", async (ctx, name: string) => ctx.step("say", () => `hello ${name}`));
const sleep = workflow("sleep", async (ctx) => ctx.sleep("1 day"));

let folder = "";
let path = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-lost-"));
  path = join(folder, "app.db");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

interface Scope {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  readonly lines: unknown[];
  readonly broken: unknown[];
  stop(): Promise<void>;
}

async function scope(pollMs?: number): Promise<Scope> {
  const world = virtualWorld();
  const lines: unknown[] = [];
  const broken: unknown[] = [];
  const log = (level: string, text: string, fields: object): unknown => lines.push([level, text, fields]);
  const store = sqliteStore(path, pollMs === undefined ? {} : { pollMs });
  const engine = await createEngine({ store, workflows: [greet, sleep], world, log });
  engine.on("engine.broken", ({ error }) => broken.push(error));
  const stop = async (): Promise<void> => {
    const stopped = engine.shutdown({ drainMs: 0 });
    await world.advance("20 s");
    await stopped;
  };
  onTestFinished(stop);
  return { engine, world, lines, broken, stop };
}

function deleteAll(): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`);
}

/** A complete database takes the place of the one that is open, as a restored backup does. */
async function replace(): Promise<void> {
  const Driver = await findDriver();
  const database = new Driver(path);
  database.exec(`VACUUM INTO '${path}.backup'`);
  database.close();
  renameSync(`${path}.backup`, path);
}

const LOSSES: readonly (readonly [string, () => void | Promise<void>])[] = [
  ["deleted", () => rmSync(path)],
  ["deleted together with its log", deleteAll],
  ["moved away", () => renameSync(path, `${path}.moved`)],
  ["replaced", replace],
  ["left without its log", () => rmSync(`${path}-wal`)],
];

// Windows refuses to delete or move a file that is open.
describe.skipIf(process.platform === "win32")("a SQLite file that is lost while it is open", () => {
  it.each(LOSSES)("a start is not acknowledged after the file was %s", async (_, lose) => {
    const { engine, broken } = await scope();
    await lose();
    const lost = { code: "STORE_LOST", message: expect.stringContaining(path) };
    await expect(engine.start(greet, "ann", { id: "g-1" })).rejects.toMatchObject(lost);
    await expect(engine.get("g-1")).rejects.toMatchObject(lost);
    await expect(engine.list()).rejects.toMatchObject(lost);
    expect(broken).toMatchObject([lost]);
  });

  it("an idle engine stops at its next heartbeat after the file was deleted, with one log line", async () => {
    const { engine, world, lines, broken } = await scope(60_000);
    const run = await engine.start(sleep, undefined);
    const ended = expect(run.result()).rejects.toMatchObject({ code: "STORE_LOST" });
    await world.settle();
    deleteAll();
    await world.advance("6 s");
    const message = expect.stringContaining("was deleted or moved while the store had it open");
    expect(lines).toEqual([
      ["error", "engine stopped: store must not be used any more", { code: "STORE_LOST", error: message }],
    ]);
    expect(broken).toMatchObject([{ code: "STORE_LOST", message }]);
    await ended;
    await world.advance("1 hour");
    expect(lines).toHaveLength(1);
  });

  it("a step that runs while the file is deleted is not recorded, and a new file is not created", async () => {
    const { engine, world, broken } = await scope();
    const finish: Array<() => void> = [];
    const slow = workflow("slow", async (ctx) =>
      ctx.step("slow", () => new Promise<void>((resolve) => void finish.push(resolve))),
    );
    await engine.register(slow);
    const run = await engine.start(slow, undefined);
    await world.settle();
    const ended = expect(run.result()).rejects.toMatchObject({ code: "STORE_LOST" });
    deleteAll();
    for (const end of finish) end();
    await world.settle();
    await ended;
    expect(broken).toMatchObject([{ code: "STORE_LOST" }]);
    expect(existsSync(path)).toBe(false);
  });

  it("a stopped engine leaves the database that has taken the place of its file alone", async () => {
    const { engine, world, stop } = await scope();
    await engine.start(greet, "ann", { id: "old" });
    await world.settle();
    deleteAll();
    const next = await scope();
    await next.engine.start(greet, "bob", { id: "new" });
    await next.world.settle();
    await world.advance("6 s");
    await stop();
    expect(existsSync(`${path}-wal`)).toBe(true);
    // What a crash leaves: the next process reads the log.
    for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${path}.copy${suffix}`);
    const Driver = await findDriver();
    const copy = new Driver(`${path}.copy`);
    expect(copy.prepare("SELECT id FROM pawl_runs").all()).toMatchObject([{ id: "new" }]);
    copy.close();
  });

  it("a client's read of a deleted file is rejected", async () => {
    const { engine, world } = await scope();
    await engine.start(greet, "ann", { id: "g-1" });
    await world.settle();
    rmSync(path);
    await expect(engine.get("g-1")).rejects.toMatchObject({ code: "STORE_LOST" });
  });

  it("an op in the caller's transaction on a deleted file is rejected", async () => {
    const { engine } = await scope();
    const Driver = await findDriver();
    const user = new Driver(path);
    onTestFinished(() => void user.close());
    user.exec("BEGIN IMMEDIATE");
    rmSync(path);
    await expect(engine.start(greet, "ann", { tx: user })).rejects.toMatchObject({ code: "STORE_LOST" });
    user.exec("ROLLBACK");
  });

  it("a caller's read that meets a deleted file stops the engine before its next heartbeat", async () => {
    const { engine, world, lines, broken } = await scope();
    const run = await engine.start(sleep, undefined);
    await world.settle();
    deleteAll();
    await expect(run.status()).rejects.toMatchObject({ code: "STORE_LOST" });
    expect(broken).toMatchObject([{ code: "STORE_LOST" }]);
    expect(lines).toHaveLength(1);
  });

  it("a file that other files are written beside keeps working", async () => {
    const { engine, world } = await scope();
    writeFileSync(join(folder, "other.txt"), "x");
    const run = await engine.start(greet, "ann");
    await world.advance("6 s");
    expect(await run.result()).toBe("hello ann");
  });
});

describe("a schema that a newer release has raised", () => {
  it("an older worker that is running stops at its next heartbeat and releases nothing", async () => {
    const { engine, world, lines, broken } = await scope(60_000);
    const run = await engine.start(sleep, undefined);
    await world.settle();
    const Driver = await findDriver();
    const newer = new Driver(path);
    onTestFinished(() => void newer.close());
    newer.exec("UPDATE pawl_schema SET version = 99");
    const rows = (): unknown => newer.prepare("SELECT owner, epoch, status FROM pawl_runs").all();
    const before = rows();
    await world.advance("6 s");
    const message = expect.stringContaining("schema version 99");
    expect(lines).toEqual([
      ["error", "engine stopped: store must not be used any more", { code: "STORE_UNSUPPORTED", error: message }],
    ]);
    expect(broken).toMatchObject([{ code: "STORE_UNSUPPORTED" }]);
    await expect(run.send("go", 1)).rejects.toMatchObject({ code: "STORE_UNSUPPORTED", message });
    await engine.shutdown({ drainMs: 0 });
    expect(rows()).toEqual(before);
  });

  it("an older worker does not write a single row after the schema was raised", async () => {
    const { engine } = await scope();
    const Driver = await findDriver();
    const newer = new Driver(path);
    onTestFinished(() => void newer.close());
    newer.exec("UPDATE pawl_schema SET version = 99");
    await expect(engine.start(greet, "ann")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    expect(newer.prepare("SELECT count(*) AS n FROM pawl_runs").get()).toMatchObject({ n: 0 });
    newer.exec("BEGIN IMMEDIATE");
    await expect(engine.start(greet, "ann", { tx: newer })).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    newer.exec("ROLLBACK");
  });
});
