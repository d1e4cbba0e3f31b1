import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createClient, createEngine, memoryStore, PawlError, workflow } from "../index.ts";
import { postgresStore } from "../store/postgres/index.ts";
import { redisStore } from "../store/redis/index.ts";
import { openDatabase, sqliteStore } from "../store/sqlite/index.ts";
import { StoreError } from "../store/store-error.ts";
import { intercepted } from "../testing/intercepted.ts";

/** The mistakes of the first five minutes. */

const untyped = { createEngine, createClient, postgresStore, redisStore, sqliteStore } as unknown as Record<
  string,
  (...args: readonly unknown[]) => unknown
>;

/** The error that a call throws or rejects with. */
async function errorOf(call: () => unknown): Promise<PawlError> {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => new Error("no error"),
      (thrown: unknown) => thrown,
    );
  expect(error).toBeInstanceOf(PawlError);
  return error as PawlError;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "pawl-open-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

it.each([
  ["createEngine without options", "createEngine", []],
  ["createEngine without a store", "createEngine", [{}]],
  ["createEngine with a path as the store", "createEngine", [{ store: "app.db" }]],
  ["createClient without a store", "createClient", [{}]],
  ["postgresStore without an address", "postgresStore", [undefined]],
  ["postgresStore with an object that is no pool", "postgresStore", [{}]],
  ["redisStore without an address", "redisStore", [undefined]],
  ["sqliteStore without a path", "sqliteStore", [undefined]],
])("%s is rejected with OPTION_INVALID", async (_, name, args) => {
  expect((await errorOf(() => untyped[name]?.(...args))).code).toBe("OPTION_INVALID");
});

it.each([-5, Number.NaN, "5"])(
  "shutdown with a drainMs of %s is rejected, and the engine keeps working",
  async (drainMs) => {
    const engine = await createEngine({ store: memoryStore(), workflows: [] });
    onTestFinished(() => engine.shutdown({ drainMs: 0 }));
    const error = await errorOf(() => engine.shutdown({ drainMs: drainMs as number }));
    expect(error).toMatchObject({ code: "OPTION_INVALID", message: expect.stringContaining("drainMs must be") });
    expect((await engine.list()).items).toEqual([]);
  },
);

it.each([
  ["its folder is missing", async (path: string) => join(path, "none", "app.db")],
  ["it is a folder", async (path: string) => path],
  [
    "it is not a database",
    async (path: string) => {
      await writeFile(join(path, "notes.txt"), "x".repeat(5_000));
      return join(path, "notes.txt");
    },
  ],
])("an error of opening a SQLite file names the path when %s", async (_, pathIn) => {
  const path = await pathIn(await folder());
  const error = await errorOf(() => createEngine({ store: sqliteStore(path) }));
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining(`SQLite file ${path} `) });
  expect(error.message).toContain("check its address, and that this process may use it");
});

it("openDatabase is rejected with STORE_UNAVAILABLE and the path when the file cannot be opened", async () => {
  const path = join(await folder(), "none", "app.db");
  const error = await errorOf(() => openDatabase(path));
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining(`SQLite file ${path} `) });
});

it("createEngine and register are rejected with STORE_UNAVAILABLE when the store fails every heartbeat", async () => {
  let isDown = true;
  const failing = () =>
    intercepted(memoryStore(), async ({ method }, proceed) => {
      if (method !== "heartbeat" || !isDown) return await proceed();
      throw new StoreError("STORE_UNAVAILABLE", "notApplied", "no connection");
    });
  const noop = workflow("noop", async () => 1);
  const options = { storageRetryPolicy: { maxAttempts: 1 }, log: () => undefined };
  const rejected = await errorOf(() => createEngine({ store: failing(), workflows: [noop], ...options }));
  expect(rejected.code).toBe("STORE_UNAVAILABLE");
  const engine = await createEngine({ store: failing(), ...options });
  onTestFinished(() => engine.shutdown({ drainMs: 0 }));
  expect((await errorOf(() => engine.register(noop))).code).toBe("STORE_UNAVAILABLE");
  isDown = false;
  await engine.register(noop);
  expect(await (await engine.start(noop, undefined)).result()).toBe(1);
});
