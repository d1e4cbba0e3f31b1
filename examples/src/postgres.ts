/**
 * Orders on PostgreSQL: two workers share the work, a client starts runs and waits for results, and each payment is written in the commit
 * that records its step.
 *
 * ```sh
 * DATABASE_URL=postgres://pawl:secret@127.0.0.1:5432/app node examples/dist/postgres.js
 * ```
 */
import { createClient, createEngine, declareWorkflow, type PostgresTx, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";

interface Order {
  readonly id: string;
  readonly cents: number;
}

const url = process.env.DATABASE_URL ?? "postgres://pawl:secret@127.0.0.1:5432/app";
const connect = () => postgresStore(url, { schema: "pawl_example" });

const order = workflow("order", async (ctx, { id, cents }: Order) => {
  const payments = await ctx.transaction("book", async (tx: PostgresTx) => {
    await tx.query("CREATE TEMP TABLE payments (id text, cents integer) ON COMMIT DROP");
    await tx.query("INSERT INTO payments VALUES ($1, $2)", [id, cents]);
    return (await tx.query("SELECT id, cents FROM payments")).rows;
  });
  const approval = await ctx.listen<string>("approve", { timeout: "1 minute" });
  return `${id}: ${JSON.stringify(payments)}, ${approval.timedOut ? "nobody approved" : `approved by ${approval.value}`}`;
});

const workers = [
  await createEngine({ store: connect(), workflows: [order] }),
  await createEngine({ store: connect(), workflows: [order] }),
];
const client = await createClient({ store: connect() });

const declared = declareWorkflow<Order, string>("order");
const batch = `${process.pid}-${performance.now()}`;
const runs = await Promise.all(
  [499, 1250].map((cents, n) => client.start(declared, { id: `order-${n}`, cents }, { id: `${batch}-${n}` })),
);
for (const run of runs) await run.send("approve", "ann");
for (const run of runs) console.log(await run.result());

await client.close();
for (const worker of workers) await worker.shutdown();
