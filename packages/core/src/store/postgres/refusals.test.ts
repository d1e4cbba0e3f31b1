import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createEngine, type Engine } from "../../engine/engine.ts";
import { PawlError } from "../../model/errors.ts";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { workflow } from "../../workflow/workflow.ts";
import { postgresStore } from "./index.ts";

/** What PostgreSQL refuses for a time, or does not answer, and what an engine makes of it. The clock is the system's. */

const postgres = await freshPostgres();

const TIMEOUT_MS = 1_500;

const waits = workflow("waits", async (ctx) => {
  const first = await ctx.listen<number>("go");
  return await ctx.step("add", async () => (first.value ?? 0) + 1);
});

interface Opened {
  readonly engine: Engine;
  /** Executes SQL as an administrator. `@` stands for the schema, `$role` for the role of the engine. */
  readonly admin: (sql: string) => Promise<readonly unknown[]>;
  /** Ends the connections of the engine, which then connects again. */
  readonly disconnect: () => Promise<void>;
  /** Resolves with the next event of this kind. */
  readonly next: (kind: "store.down" | "store.up") => Promise<void>;
  readonly broken: unknown[];
}

let roles = 0;

/** An engine whose role may use the schema, and no more. */
async function open({ url, pool }: PostgresFixture): Promise<Opened> {
  roles += 1;
  const name = `pawl_refused_${process.pid}_${roles}`;
  const admin = (sql: string): Promise<readonly unknown[]> =>
    execute(pool, sql.replaceAll("@", name).replaceAll("$role", name));
  const address = new URL(url);
  address.username = name;
  address.password = "secret";
  const owner = postgresStore(pool, { schema: name, listen: false });
  await owner.open({ now: () => Date.now(), every: () => () => undefined });
  await admin("CREATE ROLE $role LOGIN PASSWORD 'secret'");
  await admin(
    "GRANT USAGE ON SCHEMA @ TO $role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @ TO $role",
  );
  await admin("GRANT USAGE ON ALL SEQUENCES IN SCHEMA @ TO $role");
  const engine = await createEngine({
    store: postgresStore(address.href, { schema: name, connectionsMax: 4 }),
    workflows: [waits],
    storageTimeout: TIMEOUT_MS,
    storageRetryPolicy: { maxAttempts: 3, initialMs: 10 },
    lease: "6 s",
    poll: "200 ms",
    log: () => undefined,
  });
  const broken: unknown[] = [];
  engine.on("engine.broken", ({ error }) => broken.push(error));
  const disconnect = async (): Promise<void> => {
    await admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '$role'");
  };
  onTestFinished(async () => {
    await engine.shutdown({ drainMs: 0 });
    await disconnect();
    await admin("DROP SCHEMA @ CASCADE; DROP ROLE $role");
  });
  const next = (kind: "store.down" | "store.up"): Promise<void> =>
    new Promise((resolve) => {
      const off = engine.on(kind, () => {
        off();
        resolve();
      });
    });
  return { engine, admin, disconnect, next, broken };
}

/** The code of the error that a call rejects with, and how long it took. */
async function codeOf(call: Promise<unknown>): Promise<{ readonly code: unknown; readonly ms: number }> {
  const since = performance.now();
  const code = await call.then(
    () => "no error",
    (error: { readonly code: string }) => error.code,
  );
  return { code, ms: performance.now() - since };
}

/** Repeats a call that a busy host answers later than the timeout. */
function patiently<Result>(call: () => Promise<Result>): Promise<Result> {
  return vi.waitFor(call, { timeout: 60_000 });
}

/** A session that locks a table until `release` is called. */
async function lock({ pool }: PostgresFixture, sql: string): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query(sql);
  return async () => {
    await client.query("ROLLBACK");
    client.release();
  };
}

describe.runIf(postgres !== null)("PostgreSQL that refuses work for a time", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it.each([
    ["the role may not log in", "ALTER ROLE $role NOLOGIN", "ALTER ROLE $role LOGIN"],
    ["the password is another", "ALTER ROLE $role PASSWORD 'other'", "ALTER ROLE $role PASSWORD 'secret'"],
    ["a right is revoked", "REVOKE INSERT ON @.journal FROM $role", "GRANT INSERT ON @.journal TO $role"],
    ["all rights are revoked", "REVOKE USAGE ON SCHEMA @ FROM $role", "GRANT USAGE ON SCHEMA @ TO $role"],
    [
      "a function is revoked",
      "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA @ FROM PUBLIC",
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA @ TO PUBLIC",
    ],
    [
      "transactions are read-only",
      "ALTER ROLE $role SET default_transaction_read_only = on",
      "ALTER ROLE $role RESET default_transaction_read_only",
    ],
    ["the role may have no connection", "ALTER ROLE $role CONNECTION LIMIT 0", "ALTER ROLE $role CONNECTION LIMIT -1"],
    ["a table is gone", "ALTER TABLE @.journal RENAME TO journal_old", "ALTER TABLE @.journal_old RENAME TO journal"],
    ["the schema is gone", "ALTER SCHEMA @ RENAME TO @_old", "ALTER SCHEMA @_old RENAME TO @"],
  ])("an engine resumes its runs after %s", async (_, refuse, allow) => {
    const { engine, admin, disconnect, next, broken } = await open(fixture);
    const run = await patiently(() => engine.start(waits, undefined, { id: "first" }));
    let isDown = false;
    void next("store.down").then(() => {
      isDown = true;
    });
    await admin(refuse);
    await disconnect();
    const refused = await codeOf(run.send("go", 1, { id: "go-1" }));
    if (refused.code !== "no error") expect(refused.code).toBe("STORE_UNAVAILABLE");
    // A connection that was being opened may outlive `disconnect` and serve that call. A commit that fails reports the store as down.
    await vi.waitFor(
      async () => {
        if (!isDown) await disconnect();
        if (!isDown) await codeOf(run.send("note", 1));
        expect(isDown).toBe(true);
      },
      { timeout: 60_000 },
    );
    const isUp = next("store.up");
    await admin(allow);
    await disconnect();
    await isUp;
    await patiently(() => run.send("go", 1, { id: "go-1" }));
    expect(await patiently(() => run.result())).toBe(2);
    expect(broken).toEqual([]);
  });

  it("createEngine is rejected with STORE_UNAVAILABLE, without the password, when the password is wrong", async () => {
    const address = new URL(fixture.url);
    const role = `pawl_wrong_${process.pid}`;
    await execute(fixture.pool, `CREATE ROLE ${role} LOGIN PASSWORD 'right'`);
    onTestFinished(async () => void (await execute(fixture.pool, `DROP ROLE ${role}`)));
    address.username = role;
    address.password = "not-the-password";
    const error = await createEngine({ store: postgresStore(address.href) }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PawlError);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("28P01") });
    expect((error as PawlError).message).toContain(role);
    expect((error as PawlError).message).not.toContain("not-the-password");
  });

  it("callers get STORE_UNAVAILABLE in time while commits wait and reads succeed, and store.up follows a commit", async () => {
    const { engine, next, broken } = await open(fixture);
    const run = await patiently(() => engine.start(waits, undefined, { id: "first" }));
    const isDown = next("store.down");
    const seen: string[] = [];
    engine.on("store.up", () => seen.push("up"));
    const release = await lock(fixture, `LOCK TABLE ${`pawl_refused_${process.pid}_${roles}`}.runs IN SHARE MODE`);
    const calls = [
      codeOf(run.send("go", 1, { id: "go-1" })),
      codeOf(run.cancel()),
      codeOf(run.pause()),
      codeOf(engine.emit("topic", 1)),
      codeOf(engine.start(waits, undefined, { id: "later" })),
    ];
    const ends = await Promise.all(calls);
    expect(ends.map(({ code }) => code)).toEqual(ends.map(() => "STORE_UNAVAILABLE"));
    for (const { ms } of ends) expect(ms).toBeLessThan(3 * TIMEOUT_MS);
    await isDown;
    expect(["pending", "running", "suspended"]).toContain(await patiently(() => run.status()));
    expect(seen).toEqual([]);
    const isUp = next("store.up");
    await release();
    await isUp;
    const later = await patiently(() => engine.start(waits, undefined, { id: "later" }));
    await patiently(() => later.send("go", 1, { id: "go-2" }));
    expect(await patiently(() => later.result())).toBe(2);
    expect(broken).toEqual([]);
  });
});
