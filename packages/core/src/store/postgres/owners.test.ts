import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { create, ORDER } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Store } from "../store.ts";
import { postgresStore } from "./index.ts";

const postgres = await freshPostgres();

const LEASE_MS = 60_000;

describe.runIf(postgres !== null)("runs of expired workers in PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  async function open(): Promise<{ readonly store: Store; readonly schema: string }> {
    const { schema, dispose } = await fixture.schema();
    const store = postgresStore(fixture.url, { schema, listen: false, statementMs: 5_000 });
    onTestFinished(async () => {
      await store.close();
      await dispose();
    });
    await store.open(new ManualWorld(0));
    return { store, schema };
  }

  /** Executes statements in a transaction of another session, which holds its locks until the end. */
  async function beside(first: string): Promise<(last: string) => Promise<void>> {
    const client = await fixture.pool.connect();
    await client.query("BEGIN");
    await client.query(first);
    return async (last) => {
      await client.query(last);
      await client.query("COMMIT");
      client.release();
    };
  }

  /** Resolves when a statement of this kind waits for a lock. */
  async function blocked(kind: string): Promise<void> {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%.${kind}%'`;
    for (let attempts = 0; attempts < 5_000; attempts += 1) if ((await execute(fixture.pool, sql)).length > 0) return;
    throw new Error(`no ${kind} waits`);
  }

  it.each([
    ["claim", (store: Store) => store.claim({ worker: "w", limit: 1, workflows: ORDER })],
    ["commit", (store: Store) => store.commit([create("made", { owner: "w" })])],
  ] as const)(
    "a %s in progress while its worker's row is deleted leaves no run with an unknown owner",
    async (kind, act) => {
      const { store, schema } = await open();
      await store.commit([create("r")]);
      await store.heartbeat("w", LEASE_MS);
      const reap = await beside(`SELECT 1 FROM ${schema}.workers WHERE id = 'w' FOR UPDATE`);
      const acted = act(store);
      await blocked(kind);
      await reap(`DELETE FROM ${schema}.workers WHERE id = 'w'`);
      await acted;
      const { freed } = await store.heartbeat("v", LEASE_MS);
      expect(freed).toBe(1);
      const claimed = await store.claim({ worker: "v", limit: 9, workflows: ORDER });
      expect(claimed.map(({ id }) => id)).toContain(kind === "claim" ? "r" : "made");
    },
  );

  it("a heartbeat skips a run that another session has locked; the next one releases it", async () => {
    const { store, schema } = await open();
    await store.commit(["a", "b", "c"].map((id) => create(id, { owner: "w" })));
    const letGo = await beside(`SELECT 1 FROM ${schema}.runs WHERE id = 'b' FOR UPDATE`);
    expect(await store.heartbeat("v", LEASE_MS)).toMatchObject({ freed: 2 });
    await letGo("SELECT 1");
    expect(await store.heartbeat("v", LEASE_MS)).toMatchObject({ freed: 1, nextExpiryAt: null });
  });
});
