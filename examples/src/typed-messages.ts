/**
 * Input and messages with schemas. The types of `input` and of received messages are inferred from them. Invalid values are rejected
 * before anything is stored. Any Standard Schema library works the same way.
 */
import { createEngine, memoryStore, message, PawlError, workflow } from "pawl";
import { z } from "zod";

const bid = message("bid", z.object({ bidder: z.string().min(1), cents: z.int().positive() }));
const lot = z.object({ title: z.string(), reserveCents: z.int() });

const auction = workflow("auction", { input: lot }, async (ctx, { title, reserveCents }) => {
  let best = { bidder: "nobody", cents: 0 };
  for (;;) {
    const next = await ctx.listen(bid, { timeout: "2 s" });
    if (next.timedOut) break;
    if (next.value.cents > best.cents) best = next.value;
  }
  return best.cents >= reserveCents ? `${title} goes to ${best.bidder} for ${best.cents}` : `${title} is not sold`;
});

const engine = await createEngine({ store: memoryStore(), workflows: [auction] });
const run = await engine.start(auction, { title: "a lamp", reserveCents: 500 });

await run.send(bid, { bidder: "ann", cents: 400 });
await run.send(bid, { bidder: "bob", cents: 900 });
try {
  await run.send(bid, { bidder: "", cents: -1 });
} catch (error) {
  if (error instanceof PawlError) console.log(`refused: ${error.code}`);
}

console.log(await run.result());
await engine.shutdown();
