import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, completed, create, message, post, record, suspended } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Store } from "../store.ts";
import { columnArray, numberArray } from "./array-text.ts";
import { postgresStore } from "./index.ts";

const postgres = await freshPostgres();

interface Opened {
  readonly store: Store;
  readonly schema: string;
}

async function open({ pool, schema }: PostgresFixture): Promise<Opened> {
  const own = await schema();
  const store = postgresStore(pool, { schema: own.schema, listen: false });
  await store.open(new ManualWorld(1_700_000_000_000));
  onTestFinished(async () => {
    await store.close();
    await own.dispose();
  });
  await store.heartbeat("w", 3_600_000);
  return { store, schema: own.schema };
}

/** Sorted by bytes. Sorted by UTF-16 code units, the last two would be swapped. */
const IDS = ["Z", "a", "b", "ä", "\ue000", "😀"];

/** Returns a commit that adds a record to each of these runs if they have these revs. */
const commitCall = (schema: string): string =>
  `SELECT ${schema}.commit(NULL, NULL, $1, $2, NULL, $3, '{l}', '{step}', '{""}', '{1}', 0, '{0}', '{0}', '{""}', NULL${", NULL".repeat(20)}) AS present`;

type Seen = readonly (readonly [id: string, rev: number])[];

function commitValues(seen: Seen): unknown[] {
  const revs = seen.map(([, rev]) => rev);
  const isSame = new Set(revs).size === 1;
  return [
    columnArray(seen.map(([id]) => id)),
    numberArray(isSame ? revs.slice(0, 1) : revs),
    numberArray(seen.map(() => 1)),
  ];
}

describe.runIf(postgres !== null)("a commit in columns", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  /** Returns whether the commit was written. */
  async function tried(schema: string, seen: Seen): Promise<boolean> {
    const [row] = (await execute(fixture.pool, commitCall(schema), commitValues(seen))) as { present: unknown }[];
    return row?.present !== null;
  }

  async function revs(schema: string): Promise<Seen> {
    const rows = await execute(fixture.pool, `SELECT id, rev FROM ${schema}.runs ORDER BY random()`);
    return (rows as { id: string; rev: number }[]).map(({ id, rev }) => [id, rev]);
  }

  async function records(schema: string): Promise<unknown> {
    const [row] = await execute(fixture.pool, `SELECT count(*)::int AS n FROM ${schema}.journal`);
    return (row as { n: number }).n;
  }

  it("a commit is written only if every run has the rev that was seen", async () => {
    const { store, schema } = await open(fixture);
    await store.commit(IDS.map((id) => create(id, { owner: "w" })));
    const seen = await revs(schema);
    expect(seen.map(([, rev]) => rev)).toEqual(IDS.map(() => 1));
    const away = seen.map(([id, rev]) => [id === "b" ? "c" : id, rev] as const);
    for (const wrong of [away, seen.map(([id]) => [id, 2] as const)]) expect(await tried(schema, wrong)).toBe(false);
    expect(await records(schema)).toBe(0);
    expect(await tried(schema, seen)).toBe(true);
    expect(await records(schema)).toBe(IDS.length);
    await execute(fixture.pool, `UPDATE ${schema}.runs SET rev = 2 WHERE id = 'ä'`);
    expect(await tried(schema, seen)).toBe(false);
  });

  it("a commit compares the revs of runs one by one if they differ", async () => {
    const { store, schema } = await open(fixture);
    await store.commit(IDS.map((id) => create(id, { owner: "w" })));
    await execute(fixture.pool, `UPDATE ${schema}.runs SET rev = 2 WHERE id IN ('b', '😀')`);
    const seen = await revs(schema);
    const swapped = (one: string, other: string): Seen =>
      seen.map(([id, rev]) => [id, id === one || id === other ? 3 - rev : rev]);
    for (const [one, other] of [
      ["b", "a"],
      ["😀", "\ue000"],
      ["ä", "b"],
    ] as const) {
      expect(await tried(schema, swapped(one, other)), `${one} and ${other}`).toBe(false);
    }
    expect(await tried(schema, [...seen, ["c", 1]])).toBe(false);
    expect(await records(schema)).toBe(0);
    expect(await tried(schema, seen)).toBe(true);
    expect(await records(schema)).toBe(IDS.length);
  });

  it.each([
    ["the same", 1],
    ["others", 2],
  ])("a commit waits for a writer of its run and is then refused: %s revs", async (_, rev) => {
    const { store, schema } = await open(fixture);
    await store.commit(IDS.map((id) => create(id, { owner: "w" })));
    await execute(fixture.pool, `UPDATE ${schema}.runs SET rev = ${rev} WHERE id = 'b'`);
    const seen = await revs(schema);
    const other = await fixture.pool.connect();
    await other.query("BEGIN");
    await other.query(`UPDATE ${schema}.runs SET rev = rev + 1 WHERE id = 'a'`);
    const wrote = tried(schema, seen);
    const waits = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query = $1";
    const waiting = async (): Promise<number> =>
      ((await execute(fixture.pool, waits, [commitCall(schema)])) as { readonly n: number }[])[0]?.n ?? 0;
    for (let round = 0; round < 2_000 && (await waiting()) === 0; round += 1);
    await other.query("COMMIT");
    other.release();
    expect(await wrote).toBe(false);
    expect(await records(schema)).toBe(0);
  });

  it("a commit of several rows writes each as a commit of one does", async () => {
    const odd = 'a "b"\\\n\u0000\ud800';
    const parent = { runId: "a", location: odd, onClose: "cancel" } as const;
    const created = [
      create("a", { owner: "w", tags: ["x", odd] }),
      create("b", { input: null }),
      create("c", { owner: "w", parent, workflow: odd, input: odd, startId: odd, createdAt: 5, version: 3 }),
      create("d", { owner: "w", input: "" }),
    ];
    const saved = [
      append("a", {
        records: [record(1, { at: 9, startedAt: 3, payload: null })],
        state: suspended({ messages: [odd] }),
      }),
      append("c", {
        records: [record(1, { location: odd, payload: odd, detail: odd, attempts: 7 })],
        state: completed(),
      }),
      append("d", { records: [record(1, { kind: "sleep", outcome: "failed", payload: "", at: 2 })], undo: "some" }),
      post(message("b", "m", { name: odd, value: odd })),
    ];
    const [together, alone] = [await open(fixture), await open(fixture)];
    await together.store.commit(created);
    await together.store.commit(saved);
    for (const transition of [...created, ...saved]) await alone.store.commit([transition]);
    for (const id of ["a", "b", "c", "d"]) {
      const loaded = await together.store.load(id);
      expect(loaded, id).not.toBeNull();
      expect(loaded, id).toEqual(await alone.store.load(id));
    }
    expect((await together.store.load("a"))?.run).toMatchObject({
      owner: "w",
      tags: ["x", odd],
      wait: { messages: [odd] },
    });
    expect((await together.store.load("b"))?.run).toMatchObject({ owner: null, parent: null, input: null });
    expect((await together.store.load("c"))?.run).toMatchObject({
      parent,
      workflow: odd,
      input: odd,
      status: "completed",
    });
    expect((await together.store.load("d"))?.run).toMatchObject({ input: "", undo: "some", status: "running" });
  });

  it("a commit adds records to their own runs, even if other runs are compared", async () => {
    const { store } = await open(fixture);
    await store.commit(["x", "y"].map((id) => create(id, { owner: "w" })));
    const adds = (id: string, epoch = 1) => append(id, { epoch, records: [record(1, { location: id })] });
    const { answers } = await store.commit([adds("x", 9), adds("y"), create("z", { owner: "w" }), adds("z")]);
    expect(answers.map(({ kind }) => kind)).toEqual(["refused", "applied", "applied", "applied"]);
    const locations = async (id: string) =>
      Array.from((await store.load(id))?.records ?? [], ({ location }) => location);
    expect([await locations("x"), await locations("y"), await locations("z")]).toEqual([[], ["y"], ["z"]]);
  });

  it("a commit numbers runs in the order in which they were created", async () => {
    const { store, schema } = await open(fixture);
    await store.commit(["c", "a", "b"].map((id) => create(id)));
    const rows = await execute(fixture.pool, `SELECT id FROM ${schema}.runs ORDER BY n`);
    expect(rows).toEqual([{ id: "c" }, { id: "a" }, { id: "b" }]);
  });
});
