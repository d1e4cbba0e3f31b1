import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, create, message, ORDER, post, record, records } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { watchedPool } from "../../testing/watched-pool.ts";
import type { Store } from "../store.ts";
import { postgresStore } from "./index.ts";
import type { KnownRun } from "./known-rows.ts";
import { HeadCache } from "./row-cache.ts";

const postgres = await freshPostgres();

async function open({ pool, schema }: PostgresFixture, fails: (text: string) => boolean = () => false) {
  const own = await schema();
  const statements: string[] = [];
  const source = watchedPool(pool, (text) => {
    statements.push(text);
    if (fails(text)) throw new Error("no such luck");
  });
  const store: Store = postgresStore(source, { schema: own.schema, listen: false });
  await store.open(new ManualWorld(1_700_000_000_000));
  onTestFinished(async () => {
    await store.close();
    await own.dispose();
  });
  statements.length = 0;
  return { store, statements };
}

describe.runIf(postgres !== null)("reading runs from PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("concurrent loads of runs share one statement and return the results of single loads", async () => {
    const { store, statements } = await open(fixture);
    const ids = ["a", "b", "c"];
    await store.commit(ids.map((id) => create(id, { owner: "w" })));
    await store.commit(ids.map((id) => append(id, { records: [record(1), record(2)] })));
    await store.commit([post(message("b", "m1"))]);
    const alone = [await store.load("a"), await store.load("b"), await store.load("c", 1), await store.load("none")];
    statements.length = 0;
    const together = await Promise.all([store.load("a"), store.load("b"), store.load("c", 1), store.load("none")]);
    expect(together).toEqual(alone);
    expect(together.map((loaded) => loaded?.records.length)).toEqual([2, 2, 1, undefined]);
    expect(together[1]?.inbox).toHaveLength(1);
    expect(statements).toHaveLength(1);
  });

  it("a run with a long journal or large values is loaded by a separate statement", async () => {
    const { store, statements } = await open(fixture);
    const many = records(1, 250);
    const large = record(1, { payload: JSON.stringify("x".repeat(70_000)) });
    await store.commit(["short", "long", "large"].map((id) => create(id, { owner: "w" })));
    await store.commit([
      append("short", { records: [record(1)] }),
      append("long", { records: many }),
      append("large", { records: [large] }),
    ]);
    statements.length = 0;
    const loaded = await Promise.all(["short", "long", "large"].map((id) => store.load(id)));
    expect(loaded.map((each) => each?.records.length)).toEqual([1, 250, 1]);
    expect(loaded[2]?.records.at(0)?.payload).toHaveLength(70_002);
    expect(statements).toHaveLength(3);
    statements.length = 0;
    await Promise.all([store.load("short"), store.load("long", 200)]);
    expect(statements).toHaveLength(1);
  });

  it("concurrent reads of run rows share one statement, except for a large row", async () => {
    const { store, statements } = await open(fixture);
    const { reader } = store;
    await store.commit([create("a"), create("b", { input: JSON.stringify("x".repeat(70_000)) })]);
    const alone = [await reader.get("a"), await reader.get("b"), await reader.get("none")];
    statements.length = 0;
    expect(await Promise.all(["a", "b", "none"].map((id) => reader.get(id)))).toEqual(alone);
    expect(alone.map((run) => run?.id)).toEqual(["a", "b", undefined]);
    expect(statements).toHaveLength(2);
  });

  it("every reader gets the error when the shared statement fails", async () => {
    let down = false;
    const { store } = await open(fixture, (text) => down && text.includes(".load_runs"));
    await store.commit([create("a", { owner: "w" }), create("b", { owner: "w" })]);
    down = true;
    const ends = await Promise.allSettled([store.load("a"), store.load("b")]);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  it("the first commit of a claimed run reads no row", async () => {
    const { store, statements } = await open(fixture);
    await store.commit([create("a", { owner: "w" }), append("a", { records: [record(1)] })]);
    await store.retire("w");
    const [run] = await store.claim({ worker: "w2", limit: 1, workflows: ORDER });
    statements.length = 0;
    const { answers } = await store.commit([append("a", { epoch: run?.epoch ?? 0, records: [record(2)] })]);
    expect(answers).toEqual([{ kind: "applied", post: null, again: false }]);
    expect(statements).toHaveLength(1);
    expect(Array.from((await store.load("a"))?.records ?? [], ({ seq }) => seq)).toEqual([1, 2]);
  });
});

describe("the cache of runs", () => {
  it("a late claim does not replace the cached result of a later commit", () => {
    const cache = new HeadCache(10, () => true);
    const known = (rev: number) => ({ rev, head: { id: "a", status: "running", owner: "w" } }) as KnownRun;
    cache.put(known(5));
    cache.learnRead(known(4));
    expect(cache.get("a")?.rev).toBe(5);
    cache.learnRead(known(6));
    expect(cache.get("a")?.rev).toBe(6);
  });

  it("runs of other processes are not cached", () => {
    const cache = new HeadCache(10, (owner) => owner === "w");
    const known = (owner: string) => ({ rev: 1, head: { id: owner, status: "running", owner } }) as KnownRun;
    cache.put(known("w"));
    cache.put(known("v"));
    expect([cache.get("w")?.rev, cache.get("v")]).toEqual([1, undefined]);
  });
});
