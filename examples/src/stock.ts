/**
 * Your own rows in the engine's database, changed exactly once: the reservation and the record of its step are one commit. If a shop has
 * too little stock, its transaction is rolled back and the next shop is used.
 */
import { createEngine, type SqliteTx, workflow } from "pawl";
import { sqliteStore } from "pawl/sqlite";

interface Order {
  readonly item: string;
  readonly count: number;
}

function takeFrom(tx: SqliteTx, shop: string, { item, count }: Order): number {
  const sql = "UPDATE stock SET count = count - ? WHERE shop = ? AND item = ? RETURNING count";
  const row = tx.prepare(sql).get(count, shop, item) as { readonly count: number } | undefined;
  if (row === undefined || row.count < 0) throw new Error(`${shop} has not enough of ${item}`);
  return row.count;
}

const fill = workflow("fill", async (ctx) => {
  await ctx.transaction("create", (tx) => {
    tx.exec("CREATE TABLE stock (shop TEXT, item TEXT, count INTEGER, PRIMARY KEY (shop, item))");
    const insert = tx.prepare("INSERT INTO stock VALUES (?, ?, ?)");
    insert.run("north", "salt", 2);
    insert.run("south", "salt", 5);
  });
});

const reserve = workflow("reserve", async (ctx, order: Order) => {
  for (const shop of ["north", "south"]) {
    const taken = await ctx.try(`at ${shop}`, (c) =>
      c.transaction("take", (tx) => takeFrom(tx, shop, order), { retry: false }),
    );
    if (taken.ok) return `${shop}, ${taken.value} left`;
  }
  return "nowhere";
});

const engine = await createEngine({ store: sqliteStore(":memory:"), workflows: [fill, reserve] });
await (await engine.start(fill, undefined)).result();
for (const count of [1, 4, 4]) {
  const run = await engine.start(reserve, { item: "salt", count });
  console.log(`${count} of salt: ${await run.result()}`);
}
await engine.shutdown();
