import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Status } from "../../model/run.ts";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { create } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { postgresStore } from "./index.ts";
import { type RunFilter, runCount, runPage } from "./postgres-reader.ts";

const LIMIT = 20;
const EACH = 4_000;
/** Inserting thousands of rows takes long on a busy host. */
const FILL_MS_MAX = 60_000;

interface Node {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Node[];
}

const postgres = await freshPostgres();

describe.runIf(postgres !== null)("a list of many runs in PostgreSQL", () => {
  const { pool, schema: freshSchema, close } = postgres as PostgresFixture;
  let schema: string;

  beforeAll(async () => {
    schema = (await freshSchema()).schema;
    const store = postgresStore(pool, { schema });
    await store.open(new ManualWorld(0));
    await store.commit([create("r")]);
    await fill("suspended", false);
    for (const status of ["completed", "failed", "cancelled"] as const) await fill(status, true);
    await execute(pool, `ANALYZE ${schema}.runs`);
    await store.close();
  }, FILL_MS_MAX);
  afterAll(close);

  async function fill(status: Status, ended: boolean): Promise<void> {
    const changed = `jsonb_build_object('id', '${status}-' || g, 'n', g, 'created_at', g, 'status', '${status}',
      'ended_at', ${ended ? "g" : "NULL::bigint"}, 'owner', NULL, 'wake_at', NULL)`;
    await execute(
      pool,
      `INSERT INTO ${schema}.runs SELECT (jsonb_populate_record(r, ${changed})).*
        FROM ${schema}.runs r, generate_series(1, ${EACH}) g WHERE r.id = 'r'`,
    );
  }

  async function ask(statement: { readonly text: string; readonly values: readonly unknown[] }, explain: string) {
    return await execute(pool, `${explain} ${statement.text.replaceAll("@.", `${schema}.`)}`, [...statement.values]);
  }

  it.each<readonly [string, RunFilter]>([
    ["nothing", {}],
    ["one end", { status: ["failed"] }],
    ["two ends", { status: ["failed", "cancelled"] }],
    ["open runs", { status: ["suspended", "running"] }],
    ["a terminal status and open runs", { status: ["completed", "suspended"] }],
    ["a workflow", { workflow: "order" }],
    ["a time", { createdBefore: EACH / 2 }],
  ])("a list of runs filtered by %s reads little more than its page", async (_, filter) => {
    for (const after of [null, [EACH / 2, "suspended"] as const]) {
      const [row] = await ask(runPage(filter, after, LIMIT), "EXPLAIN (ANALYZE, FORMAT JSON)");
      const [{ Plan: plan }] = (row as { readonly "QUERY PLAN": readonly [{ readonly Plan: Node }] })["QUERY PLAN"];
      expect(mostRows(plan)).toBeLessThanOrEqual(10 * LIMIT);
    }
  });

  it("a list of runs has the newest of all index paths, and a count has all", async () => {
    const page = async (filter: RunFilter): Promise<readonly string[]> => {
      const [row] = await ask(runPage(filter, null, 3), "");
      return (JSON.parse((row as { readonly json: string }).json) as readonly [string][]).map(([id]) => id);
    };
    const count = async (filter: RunFilter): Promise<number> => {
      const [row] = await ask(runCount(filter), "");
      return Number((row as { readonly json: string }).json);
    };
    const newest = [`suspended-${EACH}`, `failed-${EACH}`, `completed-${EACH}`];
    expect(await page({ createdAfter: 10, createdBefore: EACH + 1 })).toEqual(newest);
    expect(await page({ status: ["completed", "suspended"], createdBefore: EACH + 1 })).toEqual([
      newest[0],
      newest[2],
      `suspended-${EACH - 1}`,
    ]);
    expect(await count({})).toBe(4 * EACH + 1);
    expect(await count({ status: ["failed", "suspended"], createdAfter: 10 })).toBe(2 * (EACH - 10));
    expect(await count({ status: [] })).toBe(0);
  });
});

/** Returns the largest number of rows that a node of the plan has read. */
function mostRows(node: Node): number {
  const own = (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
  return Math.max(own, ...(node.Plans ?? []).map(mostRows));
}
