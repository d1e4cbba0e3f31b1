import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type Engine } from "../../engine/engine.ts";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, create, record } from "../../testing/store-contract/builders.ts";
import { watchedPool } from "../../testing/watched-pool.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import { workflow } from "../../workflow/workflow.ts";
import { createPool } from "./driver.ts";
import { postgresStore } from "./index.ts";

/** Each statement is a round trip, and each write a commit, so their number limits how many workers one server supports. */
const STATEMENTS_A_STEP_MAX = 0.05;
const STEPS = 10;

const postgres = await freshPostgres();

async function open({ pool, schema }: PostgresFixture) {
  const own = await schema();
  const statements: string[] = [];
  const engines: Engine[] = [];
  onTestFinished(async () => {
    for (const engine of engines) await engine.shutdown();
    await own.dispose();
  });
  const engine = async (
    workflows: readonly AnyWorkflow[],
    hints: { readonly listen: boolean } = { listen: false },
  ): Promise<Engine> => {
    const source = watchedPool(pool, (text) => void statements.push(text));
    const store = postgresStore(source, { schema: own.schema, ...hints });
    const made = await createEngine({ store, workflows, poll: "30s", lease: "5m" });
    engines.push(made);
    return made;
  };
  return { statements, engine };
}

const waiting = workflow("waiting", async (ctx) => {
  await ctx.listen("go");
  await ctx.listen("go");
  return "done";
});

const ten = workflow("ten", async (ctx) => {
  for (let n = 0; n < STEPS; n += 1) await ctx.step(`step-${n}`, async () => n);
  return "done";
});

describe.runIf(postgres !== null)("statements sent to PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("concurrent runs share commits", async () => {
    const { statements, engine } = await open(fixture);
    const worker = await engine([ten]);
    statements.length = 0;
    const runs = 300;
    await Promise.all(Array.from({ length: runs }, async () => (await worker.start(ten, undefined)).result()));
    expect(statements.length / (runs * STEPS)).toBeLessThan(STATEMENTS_A_STEP_MAX);
  });

  it("runs of an expired worker are claimed and read together", async () => {
    const { statements, engine } = await open(fixture);
    const client = await engine([]);
    const ids = Array.from({ length: 300 }, (_, n) => `left-${n}`);
    await Promise.all(ids.map((id) => client.start(ten, undefined, { id })));
    statements.length = 0;
    const worker = await engine([ten]);
    const ended = new Promise<void>((resolve) => {
      let left = ids.length;
      worker.on("run.completed", () => {
        left -= 1;
        if (left === 0) resolve();
      });
    });
    await ended;
    expect(statements.length / (ids.length * STEPS)).toBeLessThan(STATEMENTS_A_STEP_MAX);
  });

  it("each of several steps is one statement, and the last one also ends the run", async () => {
    const { statements, engine } = await open(fixture);
    const worker = await engine([ten]);
    await (await worker.start(ten, undefined)).result();
    statements.length = 0;
    await (await worker.start(ten, undefined)).result();
    const commits = statements.flatMap((text) => /(?<=\.)(?:commit|append_record)\b/.exec(text)?.[0] ?? []);
    expect(commits).toEqual(["commit", ...Array.from({ length: STEPS - 1 }, () => "append_record"), "commit"]);
  });

  it("a message of another process to a hot run costs one read and one write", async () => {
    const { statements, engine } = await open(fixture);
    const worker = await engine([waiting], { listen: true });
    const client = await engine([]);
    const rests = (): Promise<unknown> => new Promise((resolve) => worker.on("run.suspended", resolve));
    const first = rests();
    const run = await worker.start(waiting, undefined);
    await first;
    // When this message has arrived, the worker listens.
    const second = rests();
    await client.send(run.id, "go", null);
    await second;
    statements.length = 0;
    const ended = new Promise((resolve) => worker.on("run.completed", resolve));
    await client.send(run.id, "go", null);
    await ended;
    const calls = statements.flatMap(
      (text) => /(?<=\.)(?:read|commit|append|load|lock)\w*|BEGIN/.exec(text)?.[0] ?? [],
    );
    expect(calls).toEqual(["read_rows", "commit", "load_run", "commit"]);
  });

  it("the store reads the server's clock, and its estimate is less than 1 ms ahead", async () => {
    const { schema, dispose } = await fixture.schema();
    const store = postgresStore(fixture.pool, { schema });
    onTestFinished(async () => {
      await store.close();
      await dispose();
    });
    const hourMs = 3_600_000;
    await store.open({ now: () => Date.now() + hourMs, every: () => () => undefined });
    const ask = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";
    const serverNow = async (): Promise<number> =>
      ((await execute(fixture.pool, ask)) as { readonly now: number }[])[0]?.now ?? 0;
    const before = await serverNow();
    const present = await store.readClock?.();
    const taken = store.now();
    const after = await serverNow();
    expect(present).toBeGreaterThanOrEqual(before);
    expect(present).toBeLessThanOrEqual(after);
    // The milliseconds of this process and of the server start at different moments.
    expect(taken).toBeGreaterThanOrEqual(Math.floor(before));
    expect(taken).toBeLessThan(after + 1);
  });

  it("calls are prepared statements until a connection has lost one", async () => {
    const { schema, dispose } = await fixture.schema();
    const pool = await createPool({ connectionString: fixture.url, max: 1 });
    onTestFinished(async () => {
      await pool.end();
      await dispose();
    });
    const store = postgresStore(pool, { schema });
    await store.open({ now: () => 0, every: () => () => undefined });
    const prepared = async (): Promise<unknown> =>
      await execute(pool, "SELECT count(*)::int AS n FROM pg_prepared_statements");
    await store.heartbeat("w", 60_000);
    await store.commit([create("r", { owner: "w" }), append("r", { records: [record(1)] })]);
    await store.commit([append("r", { records: [record(2)] })]);
    expect(await prepared()).toEqual([{ n: 3 }]);
    await execute(pool, "DEALLOCATE ALL");
    await store.commit([append("r", { records: [record(3)] })]);
    await store.commit([append("r", { records: [record(4)] })]);
    expect(await prepared()).toEqual([{ n: 0 }]);
    expect((await store.reader.journal("r", { afterSeq: 0, limit: 9 })).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });
});
