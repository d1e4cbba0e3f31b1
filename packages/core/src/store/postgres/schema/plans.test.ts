import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../../testing/postgres-database.ts";
import { ManualWorld } from "../../../testing/store-contract/manual-world.ts";
import { perform } from "../../../testing/store-contract/perform.ts";
import { StoreActions } from "../../../testing/store-contract/store-actions.ts";
import type { Store } from "../../store.ts";
import { createPool, type PostgresClient, type PostgresPool } from "../driver.ts";
import { postgresStore } from "../index.ts";
import { STORE_SQL } from "../statements.ts";

/** A notice of `auto_explain`. `where` names the function that executed the statement. */
interface Notice {
  readonly message?: string;
  readonly where?: string;
}

interface Plan {
  readonly function: string;
  readonly text: string;
}

const SEED = 20_261_117;
const ACTIONS = 600;
const ENDED = 20_000;
const WORKERS = 2_000;
const T0 = 1_700_000_000_000;

/** Each connection reports the plan of every statement, also of those in functions. */
const EXPLAIN = [
  "session_preload_libraries=auto_explain",
  "auto_explain.log_min_duration=0",
  "auto_explain.log_nested_statements=on",
  "auto_explain.log_level=notice",
  "client_min_messages=notice",
  // Compiles every query that the server may compile.
  "jit=on",
  "jit_above_cost=0",
]
  .map((setting) => `-c ${setting}`)
  .join(" ");

const postgres = await freshPostgres();

/** A pool of connections whose plans are collected. */
async function explainedPool(url: string, plans: Plan[]): Promise<PostgresPool> {
  const pool = await createPool({ connectionString: url, max: 2, options: EXPLAIN });
  onTestFinished(() => pool.end());
  pool.on("connect", (client: PostgresClient) => {
    const events = client as unknown as { on(event: "notice", listener: (notice: Notice) => void): void };
    events.on("notice", ({ message = "", where = "" }) => {
      const name = /function (?:"[^"]+"|\w+)\.(\w+)\(/.exec(where)?.[1];
      if (name !== undefined && message.includes("plan:")) plans.push({ function: name, text: message });
    });
  });
  return pool;
}

/** Does what engines do: commits of every kind, claims, heartbeats, retirements, prunings and reads. */
async function exercise(store: Store, seed: number): Promise<void> {
  const world = new ManualWorld(T0);
  await store.open(world);
  const actions = new StoreActions(seed);
  for (let count = 0; count < ACTIONS; count += 1) {
    const action = await actions.action(store);
    if (action.kind === "advance") world.advance(action.ms);
    await perform(store, action);
  }
  const refs = [{ name: "order", version: 1 }];
  for (const bounds of [
    { max: null, idle: true },
    { max: null, idle: false },
    { max: 1, idle: false },
  ]) {
    await store.claim({ worker: "w", limit: 5, workflows: refs, suspects: { claims: 2, held: 0, ...bounds } });
  }
  await store.claim({ worker: "w", limit: 5, workflows: refs, newestFirst: true });
  const { items } = await store.reader.list({ limit: 3 });
  await store.load(items[0]?.id ?? "none");
  await Promise.all(items.map(({ id }) => store.load(id)));
  await Promise.all(items.map(({ id }) => store.reader.get(id)));
  await store.reader.get(items[0]?.id ?? "none");
}

describe.runIf(postgres !== null)("plans of the statements in functions", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  async function open(): Promise<{
    readonly schema: string;
    readonly plans: Plan[];
    readonly store: () => Promise<Store>;
  }> {
    const { schema, dispose } = await fixture.schema();
    onTestFinished(dispose);
    const plans: Plan[] = [];
    const store = async (): Promise<Store> =>
      postgresStore(await explainedPool(fixture.url, plans), { schema, listen: false, clock: "process" });
    return { schema, plans, store };
  }

  /** Fills the tables as many workers and a long history do. */
  async function fill(schema: string): Promise<void> {
    const ended = `SELECT g, NULL, ${T0 - 100_000} + g, ${T0 - 90_000} + g, ${T0 - 80_000} + g, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1,
      'ended-' || g, 'completed', 'none', NULL, 'order', 's' FROM generate_series(1, ${ENDED}) AS g`;
    const columns = `n, wake_at, created_at, started_at, ended_at, rev, epoch, turn, inbox_last, topics, base_seq, generation, claims,
      claim_seq, version, id, status, undo, owner, workflow, start_id`;
    const statements = [
      `INSERT INTO ${schema}.runs (${columns}) ${ended}`,
      `INSERT INTO ${schema}.journal SELECT ${T0}, ${T0}, 1, 1, 'ended-' || g, 'a', 'step', '', '', NULL FROM generate_series(1, ${ENDED}) AS g`,
      `INSERT INTO ${schema}.inbox_ids SELECT ${T0 - 100_000} + g, 1, 'ended-' || g, 'message', 'm' FROM generate_series(1, ${ENDED}) AS g`,
      `INSERT INTO ${schema}.workers SELECT ${T0} + 1000000 + g, 'worker-' || g FROM generate_series(1, ${WORKERS}) AS g`,
    ];
    for (const statement of statements) await execute(fixture.pool, statement);
    await execute(fixture.pool, "ANALYZE");
  }

  it("no function scans a whole table or compiles a plan, on empty tables and on full ones", async () => {
    const { schema, plans, store } = await open();
    for (const seed of [SEED, SEED + 1]) {
      const opened = await store();
      await exercise(opened, seed);
      await opened.close();
      if (seed === SEED) await fill(schema);
    }
    expect(plans.filter(({ text }) => /Seq Scan on (?!pg_)|JIT:/.test(text)).map((plan) => plan.text)).toEqual([]);
    const explained = new Set(plans.map((plan) => plan.function));
    const all = await execute(
      fixture.pool,
      `SELECT proname AS name, proconfig AS settings FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace ORDER BY proname`,
    );
    const functions = all as { readonly name: string; readonly settings: readonly string[] | null }[];
    expect(functions.map(({ name }) => name).filter((name) => !explained.has(name))).toEqual([]);
    expect(functions.filter(({ settings }) => settings?.includes("jit=off") !== true)).toEqual([]);
  });

  it("pruning reads ended runs in the order of an index, without sorting them", async () => {
    const { schema, plans, store } = await open();
    const opened = await store();
    await opened.open(new ManualWorld(T0));
    await fill(schema);
    plans.length = 0;
    const request = { runsEndedBefore: T0, receivedBefore: T0, lettersBefore: T0, limit: 100 };
    expect(await opened.prune(request)).toMatchObject({ runs: 100, entries: 100, done: false });
    const texts = plans.filter((plan) => plan.function === "prune").map(({ text }) => text);
    expect(texts.filter((text) => /\bSort\b|Seq Scan|Bitmap/.test(text))).toEqual([]);
    const choices = texts.filter((text) => text.includes("r.status = ended"));
    expect(choices).not.toEqual([]);
    for (const text of choices) expect(text).toMatch(/Index Scan using runs_ended on runs r/);
    await opened.close();
  });

  it("a heartbeat reads the workers whose lease expires first, by an index", async () => {
    const { schema, plans, store } = await open();
    const opened = await store();
    await opened.open(new ManualWorld(T0));
    await fill(schema);
    plans.length = 0;
    expect(await opened.heartbeat("w", 5_000)).toMatchObject({ nextExpiryAt: T0 + 1_000_001 });
    const texts = plans.filter((plan) => plan.function === "heartbeat").map(({ text }) => text);
    const [dead, expiry] = ["w.expires_at <= present", "min(w.expires_at)"].map((part) =>
      texts.find((text) => text.includes(part)),
    );
    for (const text of [dead, expiry]) expect(text).toMatch(/Index (Only )?Scan using workers_expires/);
    expect(texts.filter((text) => /\bSort\b/.test(text) && text.includes("workers_expires"))).toEqual([]);
    await opened.close();
  });

  it("the query for a worker's due runs reads only due entries of the index", async () => {
    const { schema, dispose } = await fixture.schema();
    const store = postgresStore(fixture.url, { schema, listen: false });
    await store.open(new ManualWorld(T0));
    const client = await fixture.pool.connect();
    onTestFinished(async () => {
      await client.query("RESET enable_seqscan; RESET enable_bitmapscan");
      client.release();
      await store.close();
      await dispose();
    });
    await client.query("SET enable_seqscan = off; SET enable_bitmapscan = off");
    const query = STORE_SQL.due
      .replaceAll("@", schema)
      .replaceAll("$1", "NULL")
      .replace("$2", "'w'")
      .replace("$3", "5");
    const { rows } = await client.query(`EXPLAIN ${query}`);
    const plan = rows.map((row) => (row as { readonly "QUERY PLAN": string })["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/Index Cond: .*wake_at <=/);
  });
});
