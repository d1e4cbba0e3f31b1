/**
 * Orders on Redis: two workers share the work, and a client starts runs, sends messages and is notified of results.
 *
 * ```sh
 * REDIS_URL=redis://127.0.0.1:6379 node examples/dist/redis.js
 * ```
 */
import { createClient, createEngine, declareWorkflow, workflow } from "pawl";
import { redisStore } from "pawl/redis";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const connect = () => redisStore(url, { prefix: "pawl_example" });

const order = workflow("order", async (ctx, { id }: { readonly id: string }) => {
  const label = await ctx.step("label", () => `label of ${id}`);
  const approval = await ctx.listen<string>("approve", { timeout: "1 minute" });
  return `${label}, ${approval.timedOut ? "nobody approved" : `approved by ${approval.value}`}`;
});

const workers = [
  await createEngine({ store: connect(), workflows: [order] }),
  await createEngine({ store: connect(), workflows: [order] }),
];
const client = await createClient({ store: connect() });

const declared = declareWorkflow<{ readonly id: string }, string>("order");
const batch = `${process.pid}-${performance.now()}`;
const runs = await Promise.all(
  [1, 2].map((n) => client.start(declared, { id: `order-${n}` }, { id: `${batch}-${n}` })),
);
for (const run of runs) await run.send("approve", "ann");
for (const run of runs) console.log(await run.result());

await client.close();
for (const worker of workers) await worker.shutdown();
