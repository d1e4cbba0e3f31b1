import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../engine/engine.ts";
import type { PostgresTx } from "../../model/tx.ts";
import { endConnections, execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import {
  append,
  completed,
  create,
  event,
  message,
  post,
  record,
  suspended,
} from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { watchedPool } from "../../testing/watched-pool.ts";
import { workflow } from "../../workflow/workflow.ts";
import type { Store } from "../store.ts";
import type { PostgresClient, PostgresPool } from "./driver.ts";
import { type PostgresStoreOptions, postgresStore } from "./index.ts";

const postgres = await freshPostgres();

interface Opened {
  readonly store: Store;
  readonly schema: string;
  readonly world: ManualWorld;
  another(source?: string | PostgresPool, over?: PostgresStoreOptions): Promise<Store>;
}

/** A store over a separate schema, with the database's clock. */
async function open({ pool, schema }: PostgresFixture, over: PostgresStoreOptions = {}): Promise<Opened> {
  const own = await schema();
  const world = new ManualWorld(1_700_000_000_000);
  const stores: Store[] = [];
  const another = async (source: string | PostgresPool = pool, more: PostgresStoreOptions = {}): Promise<Store> => {
    const store = postgresStore(source, { schema: own.schema, listen: false, ...over, ...more });
    stores.push(store);
    await store.open(world);
    return store;
  };
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    await own.dispose();
  });
  return { store: await another(), schema: own.schema, world, another };
}

/** A pool whose connections break after the statements that `when` selects, before the reply arrives. */
function breaking(pool: PostgresPool, when: (text: string) => boolean): PostgresPool {
  const wrapped = (client: PostgresClient): PostgresClient =>
    new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (name !== "query") return typeof member === "function" ? member.bind(target) : member;
        return async (text: string, values?: unknown[]) => {
          const result = await target.query(text, values);
          if (typeof text === "string" && when(text)) throw new Error("Connection terminated unexpectedly");
          return result;
        };
      },
    });
  return {
    connect: async () => wrapped(await pool.connect()),
    end: () => pool.end(),
    on: pool.on.bind(pool),
  };
}

describe.runIf(postgres !== null)("failures of PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("a commit with a lost reply has an unknown outcome, and a repeated commit gets the first answers", async () => {
    const { another } = await open(fixture);
    let breaks = true;
    const store = await another(breaking(fixture.pool, (text) => breaks && /\.(?:commit|append_record)/.test(text)));
    const batch = [create("r", { owner: "w" }), append("r", { records: [record(1)], state: suspended() })];
    await expect(store.commit(batch)).rejects.toMatchObject({ name: "StoreError", outcome: "unknown" });
    breaks = false;
    const { answers } = await store.commit(batch);
    expect(answers).toEqual([
      { kind: "applied", post: null, again: true },
      { kind: "applied", post: null, again: true },
    ]);
    expect((await store.load("r"))?.records).toHaveLength(1);
  });

  it("a connection lost during a locked commit leaves an unknown outcome and no locks", async () => {
    const { store, another } = await open(fixture);
    await store.commit([create("r", { owner: "w" }), append("r", { state: suspended() })]);
    let breaks = true;
    const broken = await another(breaking(fixture.pool, (text) => breaks && text === "COMMIT"));
    await broken.commit([post(message("r", "first"))]);
    await expect(broken.commit([post(message("r", "first"))])).rejects.toMatchObject({ outcome: "unknown" });
    breaks = false;
    const { answers } = await broken.commit([post(message("r", "first")), post(message("r", "second"))]);
    expect(answers).toMatchObject([{ post: { kind: "duplicate" } }, { kind: "applied", again: false }]);
    expect((await store.reader.inbox("r")).map(({ id }) => id)).toEqual(["first", "second"]);
  });

  it("connections that the server ends are replaced", async () => {
    const { another, schema } = await open(fixture);
    const application = `ended_${process.pid}`;
    const store = await another(`${fixture.url}?application_name=${application}`, { connectionsMax: 2 });
    await store.commit([create("r", { owner: "w" })]);
    await endConnections(fixture.pool, application);
    const attempts = [1, 2, 3].map(() => store.commit([append("r", { records: [record(1)] })]).catch(() => null));
    await Promise.all(attempts);
    const { answers } = await store.commit([append("r", { records: [record(1)] })]);
    expect(answers).toMatchObject([{ kind: "applied" }]);
    expect((await store.load("r"))?.records, schema).toHaveLength(1);
  });

  it("an unreachable server is a store error with outcome notApplied", async () => {
    const store = postgresStore("postgres://127.0.0.1:1/none");
    await expect(store.open(new ManualWorld(0))).rejects.toMatchObject({ outcome: "notApplied" });
    await store.close();
  });

  it("synchronous_commit off is rejected unless it is allowed", async () => {
    const { schema } = await open(fixture);
    const url = `${fixture.url}?options=-c%20synchronous_commit%3Doff`;
    const refused = postgresStore(url, { schema });
    await expect(refused.open(new ManualWorld(0))).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await refused.close();
    const allowed = postgresStore(url, { schema, allowAsyncCommit: true });
    await allowed.open(new ManualWorld(0));
    await allowed.close();
  });

  it("the database's clock decides, even if the process clock differs", async () => {
    const { store, world } = await open(fixture);
    const [row] = await execute(fixture.pool, "SELECT floor(extract(epoch FROM now()) * 1000)::float8 AS now");
    const { now } = row as { readonly now: number };
    expect(Math.abs(store.now() - now)).toBeLessThan(60_000);
    await store.commit([create("r", { owner: "w" })]);
    world.advance(10 * 86_400_000);
    const early = append("r", { records: [record(1)], notBefore: now + 86_400_000 });
    expect((await store.commit([early])).answers).toMatchObject([{ kind: "refused", reason: "early" }]);
    expect((await store.commit([{ ...early, notBefore: now - 1_000 }])).answers).toMatchObject([{ kind: "applied" }]);
  });

  it("user code writes in the transaction of its run's commit, or not at all", async () => {
    const { store, schema } = await open(fixture);
    await execute(fixture.pool, `CREATE TABLE IF NOT EXISTS ${schema}.ledger (line text)`);
    onTestFinished(async () => void (await execute(fixture.pool, `DROP TABLE ${schema}.ledger`)));
    const lines = async () =>
      (await execute(fixture.pool, `SELECT line FROM ${schema}.ledger`)).map((row) => (row as { line: string }).line);
    const write = (line: string) => async (tx: unknown) => {
      await (tx as PostgresTx).query(`INSERT INTO ${schema}.ledger VALUES ($1)`, [line]);
    };
    const refused = (code: (tx: PostgresTx) => Promise<unknown>) =>
      store.commit([
        append("r", { records: [record(1)], transaction: async (tx) => void (await code(tx as PostgresTx)) }),
      ]);
    await store.commit([create("r", { owner: "w" })]);
    const threw = await refused(async (tx) => {
      await write("never")(tx);
      throw new Error("no");
    });
    expect(threw.answers).toMatchObject([{ kind: "refused", reason: "threw", error: { message: "no" } }]);
    const swallowed = await refused(async (tx) => {
      await write("never")(tx);
      await tx.query("SELECT no_such_function()").catch(() => undefined);
    });
    expect(swallowed.answers).toMatchObject([{ reason: "threw", error: { code: "TX_INVALID" } }]);
    for (const text of ["COMMIT", "/* x */ ROLLBACK", "BEGIN"]) {
      expect((await refused((tx) => tx.query(text))).answers).toMatchObject([{ error: { code: "TX_STATEMENT" } }]);
    }
    expect((await refused((tx) => tx.query("SELECT 1; COMMIT"))).answers).toMatchObject([{ reason: "threw" }]);
    expect(await lines()).toEqual([]);
    const { answers } = await store.commit([append("r", { records: [record(1)], transaction: write("once") })]);
    expect([answers, await lines()]).toMatchObject([[{ kind: "applied" }], ["once"]]);
  });

  it("a commit is refused and its code rolled back if the run is taken over while the code runs", async () => {
    const { store, another, schema } = await open(fixture);
    const other = await another();
    await execute(fixture.pool, `CREATE TABLE IF NOT EXISTS ${schema}.ledger (line text)`);
    onTestFinished(async () => void (await execute(fixture.pool, `DROP TABLE ${schema}.ledger`)));
    await store.commit([create("r", { owner: "w" })]);
    const { answers } = await store.commit([
      append("r", {
        records: [record(1)],
        transaction: async (tx) => {
          await (tx as PostgresTx).query(`INSERT INTO ${schema}.ledger VALUES ('never')`);
          await other.retire("w");
          await other.claim({ worker: "v", limit: 1, workflows: [{ name: "order", version: 1 }] });
        },
      }),
    ]);
    expect(answers).toMatchObject([{ kind: "refused", reason: "fenced" }]);
    expect(await execute(fixture.pool, `SELECT * FROM ${schema}.ledger`)).toEqual([]);
  });

  it("ops in the caller's transaction take effect at its commit, or never", async () => {
    const { store, schema } = await open(fixture);
    await store.commit([create("r", { owner: "w" }), append("r", { state: suspended({ messages: ["approve"] }) })]);
    const client = await fixture.pool.connect();
    onTestFinished(() => client.release());
    const within = (id: string) => store.commitWithin?.(client, [create(id), post(message("r", `m-${id}`))]);
    await expect(within("none")).rejects.toMatchObject({ code: "TX_INVALID" });
    await expect(store.commitWithin?.({}, [create("none")])).rejects.toMatchObject({ code: "TX_INVALID" });
    await client.query("BEGIN");
    expect((await within("gone"))?.answers).toMatchObject([{ kind: "applied" }, { post: { kind: "delivered" } }]);
    expect(await store.reader.get("gone")).toBe(null);
    await client.query("ROLLBACK");
    await client.query("BEGIN");
    await within("kept");
    expect((await within("kept"))?.answers).toMatchObject([{ again: true }, { post: { kind: "duplicate" } }]);
    await client.query("COMMIT");
    expect(await store.reader.get("kept")).toMatchObject({ id: "kept" });
    expect(
      (await store.reader.inbox("r")).map(({ id }) => id),
      schema,
    ).toEqual(["m-kept"]);
  });

  it("a connection that ends while user code waits does not end the process", async () => {
    const { store } = await open(fixture);
    await store.commit([create("r", { owner: "w" })]);
    const code = async (tx: unknown): Promise<void> => {
      const { rows } = await (tx as PostgresTx).query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      await execute(fixture.pool, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
      await (tx as PostgresTx).query("SELECT 1").catch(() => undefined);
    };
    const commit = store.commit([append("r", { records: [record(1)], transaction: code })]);
    await expect(commit).rejects.toMatchObject({ name: "StoreError", outcome: "notApplied" });
    expect((await store.load("r"))?.records).toEqual([]);
  });

  it("16 clients that post to, suspend and end the same runs concurrently cause no deadlock", async () => {
    const { store, another } = await open(fixture);
    const ids = Array.from({ length: 12 }, (_, index) => `r${index}`);
    await store.commit(ids.map((id) => create(id, { owner: "w" })));
    const waits = { messages: ["approve"], topics: ["a", "b"] };
    await store.commit(ids.map((id) => append(id, { state: suspended(waits) })));
    const clients = await Promise.all(Array.from({ length: 16 }, () => another()));
    const rounds = 15;
    const work = clients.map(async (client, number) => {
      for (let round = 0; round < rounds; round += 1) {
        const some = ids.filter((_, index) => (index * 7 + number + round) % 3 === 0);
        if ((number + round) % 2 === 0) some.reverse();
        await client.commit([
          ...some.map((id) => post(message(id, `${number}-${round}`))),
          post(event(round % 2 === 0 ? "a" : "b", `${number}-${round}`, { consume: "all" })),
        ]);
      }
    });
    await Promise.all(work);
    const sent = 16 * rounds * (ids.length / 3);
    const inboxes = await Promise.all(ids.map((id) => store.reader.inbox(id)));
    expect(inboxes.flat().filter(({ kind }) => kind === "message")).toHaveLength(sent);
    for (const inbox of inboxes) expect(inbox.map(({ n }) => n)).toEqual(inbox.map((_, index) => index + 1));
  }, 120_000);

  it("a waiter in another process is notified of the end of a claimed run", async () => {
    const { store, another } = await open(fixture);
    const other = await another(fixture.url, { listen: true, connectionsMax: 3 });
    const ended: string[] = [];
    const stop = other.watch((hint) => void ended.push(...(hint.ended ?? [])));
    // The other store must listen first.
    for (let round = 0; ended.length === 0; round += 1) {
      const id = `r${round}`;
      await store.commit([create(id)]);
      await store.claim({ worker: "w", limit: 1, workflows: [{ name: "order", version: 1 }] });
      await store.commit([append(id, { epoch: 2, state: { status: "completed", outcome: null, at: 0 } })]);
      await other.reader.get(id);
    }
    expect(ended[0]).toMatch(/^r\d+$/);
    stop();
  });

  it("the end of a claimed run is notified after 20,000 other runs were claimed", async () => {
    const { store, another } = await open(fixture);
    const other = await another(fixture.url, { listen: true, connectionsMax: 3 });
    const ended: string[] = [];
    let listens = false;
    const stop = other.watch((hint) => {
      listens ||= hint.runIds === null;
      ended.push(...(hint.ended ?? []));
    });
    while (!listens) await other.reader.get("r");
    const claim = (limit: number) => store.claim({ worker: "w", limit, workflows: [{ name: "order", version: 1 }] });
    await store.commit([create("r", { startAt: 0 })]);
    await claim(1);
    const others = Array.from({ length: 20_050 }, (_, n) => `o${n}`);
    await store.commit(others.map((id) => create(id)));
    for (let first = 0; first < others.length; first += 5_000) {
      await claim(5_000);
      const ends = others.slice(first, first + 5_000).map((id) => append(id, { epoch: 2, state: completed() }));
      await store.commit(ends);
    }
    await store.commit([append("r", { epoch: 2, state: completed() })]);
    // The test times out if the hint never comes.
    while (!ended.includes("r")) await other.reader.get("r");
    stop();
  });

  it("runs continue by the poll when each notification fails", async () => {
    const { pool, schema } = fixture;
    const own = await schema();
    let failed = 0;
    const silent = watchedPool(pool, (text) => {
      if (!text.includes("pg_notify")) return;
      failed += 1;
      throw new Error("Connection terminated unexpectedly");
    });
    const greet = workflow("greet", async (ctx) => `hello ${(await ctx.listen<string>("name")).value}`);
    const base = { lease: "1 min", poll: "50ms", log: () => undefined } as const;
    const worker = await createEngine({
      ...base,
      store: postgresStore(silent, { schema: own.schema }),
      workflows: [greet],
    });
    const client = await createEngine({ ...base, store: postgresStore(silent, { schema: own.schema }) });
    const run = await client.start(greet, undefined);
    await run.send("name", "ann");
    expect(await run.result()).toBe("hello ann");
    expect(failed).toBeGreaterThan(0);
    await client.shutdown();
    await worker.shutdown();
    await own.dispose();
  });

  it("hints are pushed, also after the listening connection was replaced", async () => {
    const { store, another, world } = await open(fixture);
    const application = `listens_${process.pid}`;
    const other = await another(`${fixture.url}?application_name=${application}`, { listen: true, connectionsMax: 3 });
    const received: (readonly string[] | null)[] = [];
    const receiveHintOf = async (id: string): Promise<void> => {
      for (let round = 0; !received.some((ids) => ids?.some((one) => one.startsWith(id))); round += 1) {
        if (round % 20 === 0) world.tick();
        if (round % 50 === 0) await store.commit([create(`${id}-${round}`), post(message("nobody", "m"))]);
        await other.reader.get(id);
      }
    };
    const stop = other.watch(({ runIds }) => void received.push(runIds));
    await receiveHintOf("a");
    await endConnections(fixture.pool, application, "LISTEN%");
    await receiveHintOf("b");
    stop();
  });
});
