import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { PostgresTx } from "../../model/tx.ts";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, create, record } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Store } from "../store.ts";
import type { PostgresClient, PostgresPool } from "./driver.ts";
import { postgresStore } from "./index.ts";

const postgres = await freshPostgres();

/** Called instead of COMMIT. It may send the COMMIT at once or later. */
type AtCommit = (client: PostgresClient, proceed: () => Promise<unknown>) => Promise<unknown>;

/** A pool whose commits pass through `atCommit`. A connection with a delayed commit is not released. */
function committing(pool: PostgresPool, atCommit: AtCommit): PostgresPool {
  const wrapped = (client: PostgresClient): PostgresClient => {
    let isKept = false;
    return new Proxy(client, {
      get(target, name) {
        if (name === "release") return (error?: Error) => (isKept ? undefined : target.release(error));
        const member: unknown = Reflect.get(target, name);
        if (name !== "query") return typeof member === "function" ? member.bind(target) : member;
        return async (text: string, values?: unknown[]) => {
          if (text !== "COMMIT") return await target.query(text, values);
          isKept = true;
          const answer = await atCommit(target, () => target.query(text));
          isKept = false;
          return answer;
        };
      },
    });
  };
  return { connect: async () => wrapped(await pool.connect()), end: () => pool.end(), on: pool.on.bind(pool) };
}

describe.runIf(postgres !== null)("a commit with code in it, on PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  async function open(atCommit: AtCommit): Promise<{ readonly store: Store; readonly schema: string }> {
    const { schema, dispose } = await fixture.schema();
    onTestFinished(dispose);
    let isOpen = false;
    const pool = committing(fixture.pool, (client, proceed) => (isOpen ? atCommit(client, proceed) : proceed()));
    const store = postgresStore(pool, { schema, listen: false });
    await store.open(new ManualWorld(0));
    await store.commit([create("r", { owner: "w" })]);
    isOpen = true;
    return { store, schema };
  }

  it("a retried commit with code calls the code again and finds its first commit applied", async () => {
    let late: (() => Promise<void>) | null = null;
    const { store, schema } = await open(async (client, proceed) => {
      if (late !== null) return await proceed();
      late = async () => {
        await proceed();
        client.release();
      };
      throw new Error("Connection terminated unexpectedly");
    });
    await execute(fixture.pool, `CREATE TABLE ${schema}.ledger (line integer)`);
    onTestFinished(async () => void (await execute(fixture.pool, `DROP TABLE ${schema}.ledger`)));
    let calls = 0;
    const code = async (tx: unknown): Promise<void> => {
      calls += 1;
      await (tx as PostgresTx).query(`INSERT INTO ${schema}.ledger VALUES ($1)`, [calls]);
    };
    const batch = [append("r", { records: [record(1)], transaction: code })];
    await expect(store.commit(batch)).rejects.toMatchObject({ outcome: "unknown" });
    const again = store.commit(batch);
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".lock_rows%'`;
    while ((await execute(fixture.pool, waits)).length === 0) expect(calls).toBeLessThan(3);
    await (late as (() => Promise<void>) | null)?.();
    expect((await again).answers).toEqual([{ kind: "applied", post: null, again: true }]);
    expect(calls).toBe(2);
    expect(await execute(fixture.pool, `SELECT line FROM ${schema}.ledger`)).toEqual([{ line: 1 }]);
  });

  it("a commit with code holds its locks for a bounded time, even if its process is stopped", async () => {
    const settings: unknown[] = [];
    const { store } = await open(async (client, proceed) => {
      for (const name of ["idle_in_transaction_session_timeout", "lock_timeout"]) {
        settings.push(...(await client.query(`SHOW ${name}`)).rows);
      }
      return await proceed();
    });
    const returns = append("r", { records: [record(1)], transaction: async () => undefined });
    const throws = append("r", { records: [record(2)], transaction: () => Promise.reject(new Error("no")) });
    await store.commit([returns]);
    await store.commit([throws]);
    const bounded = [{ idle_in_transaction_session_timeout: "15s" }, { lock_timeout: "15s" }];
    expect(settings).toEqual([...bounded, ...bounded]);
  });
});
