import { createEngine, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";

/**
 * Fills a database with many sleeping runs, for benchmarks.
 *
 * @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: any[] }> }} Client
 */

const AWAKE_IN_DAYS = 30;
const BATCH = 100_000;

/** The workflow of the sleeping runs. */
export const sleeper = workflow("sleeper", async (ctx, /** @type {{ n: number }} */ input) => {
  await ctx.step("first", () => input.n);
  await ctx.sleep(`${AWAKE_IN_DAYS} days`);
  return await ctx.step("second", () => input.n);
});

/** The workflow of runs that are started while the others sleep or wake up. */
export const fresh = workflow("fresh", async (ctx) => ctx.step("only", () => Date.now()));

/**
 * Starts one sleeping run with an engine and copies its rows. An engine would need half an hour to start a million runs.
 *
 * @param {string} url @param {Client} client @param {number} count
 */
export async function makeSleepers(url, client, count) {
  const engine = await createEngine({ store: postgresStore(url), workflows: [sleeper] });
  const run = await engine.start(sleeper, { n: 1 }, { id: "sleeper-0" });
  while ((await run.status()) !== "suspended") await new Promise((resolve) => setTimeout(resolve, 20));
  await engine.shutdown();
  for (const table of ["runs", "journal"]) {
    const columns = await columnsOf(client, table);
    const id = table === "runs" ? "id" : "run_id";
    const values = columns.map((name) =>
      name === id ? "'sleeper-' || g" : name === "n" ? "nextval('pawl.positions')" : `t.${name}`,
    );
    for (let from = 1; from < count; from += BATCH) {
      const to = Math.min(from + BATCH, count) - 1;
      await client.query(
        `INSERT INTO pawl.${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM pawl.${table} t,
           generate_series(${from}, ${to}) AS g WHERE t.${id} = 'sleeper-0'`,
      );
    }
  }
  await client.query("VACUUM ANALYZE");
}

/**
 * Makes the first `count` runs due, as after an outage, by moving their times back by the duration of the sleep.
 *
 * @param {Client} client @param {number} count
 */
export async function wakeSleepers(client, count) {
  const numbers = `generate_series(0, ${count - 1}) AS g`;
  const backMs = AWAKE_IN_DAYS * 86_400_000;
  await client.query(
    `UPDATE pawl.journal j SET at = j.at - ${backMs}, started_at = j.started_at - ${backMs} FROM ${numbers}
       WHERE j.run_id = 'sleeper-' || g`,
  );
  await client.query(
    `UPDATE pawl.runs r SET wake_at = r.wake_at - ${backMs}, rev = r.rev + 1 FROM ${numbers} WHERE r.id = 'sleeper-' || g`,
  );
}

/** @param {Client} client @param {string} table @returns {Promise<readonly string[]>} */
async function columnsOf(client, table) {
  const { rows } = await client.query(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'pawl' AND table_name = $1 ORDER BY ordinal_position",
    [table],
  );
  return rows.map(({ column_name }) => column_name);
}
