import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { open } from "lmdb";
import { describe, expect, it } from "vitest";
import { driverContract } from "../../testing/driver-contract/index.ts";
import { lmdbNamespaces } from "./lmdb-namespaces.ts";
import { memoryDriver, memoryNamespaces } from "./memory-driver.ts";
import type { Namespaces } from "./namespaces.ts";
import { sqliteNamespaces } from "./sqlite-namespaces.ts";

const harness = { describe, it, expect };

/** A test subject whose namespaces are in a folder. */
async function inFolder(openAt: (path: string) => { namespaces: Namespaces; close(): Promise<void> }) {
  const folder = await mkdtemp(join(tmpdir(), "pawl-driver-"));
  let opened = openAt(join(folder, "data"));
  return {
    driver: opened.namespaces.driver("run"),
    neighbour: opened.namespaces.driver("run 2"),
    reopen: async () => {
      await opened.close();
      opened = openAt(join(folder, "data"));
      return opened.namespaces.driver("run");
    },
    alarm: async () => (await opened.namespaces.alarms()).find(({ runId }) => runId === "run")?.at ?? null,
    dispose: async () => {
      await opened.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

driverContract(
  "memory",
  async () => {
    const driver = memoryDriver();
    return { driver, neighbour: memoryDriver(), alarm: async () => driver.alarm?.at ?? null };
  },
  harness,
);

driverContract(
  "SQLite",
  () =>
    inFolder((path) => {
      const database = new DatabaseSync(path);
      return { namespaces: sqliteNamespaces(database), close: async () => database.close() };
    }),
  harness,
);

driverContract(
  "LMDB",
  () =>
    inFolder((path) => {
      const database = open<Uint8Array, Uint8Array>({ path, keyEncoding: "binary", encoding: "binary" });
      return { namespaces: lmdbNamespaces(database), close: () => database.close() };
    }),
  harness,
);

describe.each([
  ["memory", async () => ({ namespaces: memoryNamespaces(), close: async () => undefined })],
  [
    "SQLite",
    async () => {
      const database = new DatabaseSync(":memory:");
      return { namespaces: sqliteNamespaces(database), close: async () => database.close() };
    },
  ],
] as const)("namespaces in %s", (_name, create) => {
  it("namespaces return all alarms, earliest first, and one driver per run", async () => {
    const { namespaces, close } = await create();
    const drivers = ["a", "b", "c"].map((runId) => namespaces.driver(runId));
    for (const [n, driver] of drivers.entries()) await driver.setAlarm(["a", "b", "c"][n]!, 300 - 100 * n);
    await drivers[1]!.clearAlarm("b");
    expect(await namespaces.alarms()).toEqual([
      { runId: "c", at: 100 },
      { runId: "a", at: 300 },
    ]);
    expect(namespaces.driver("a")).toBe(drivers[0]);
    await close();
  });
});

it("a batch that SQLite rejects halfway writes nothing, and the next batch succeeds", async () => {
  const database = new DatabaseSync(":memory:");
  const driver = sqliteNamespaces(database).driver("run");
  const key = Uint8Array.of(1);
  const wrong = { key, value: Symbol("none") as unknown as Uint8Array };
  await expect(driver.batch([{ key, value: Uint8Array.of(2) }, wrong])).rejects.toThrow();
  expect(await driver.list(Uint8Array.of())).toEqual([]);
  await driver.batch([{ key, value: Uint8Array.of(2) }]);
  expect(await driver.list(Uint8Array.of())).toHaveLength(1);
  database.close();
});
