import { createEngine, memoryStore, workflow } from "pawl";
import { memoryDriver, runWorkflow } from "pawl/host";

/** Executed in a browser, in a page and in a worker. The test bundles it, serves it and receives its results. */

const order = workflow("order", async (ctx, /** @type {number} */ cents) => {
  const charged = await ctx.step("charge", () => cents * 2);
  await ctx.sleep(5);
  const both = await ctx.join("both", {
    bytes: (c) => c.step("bytes", async () => Uint8Array.of(1, 2, 3)),
    text: (c) => c.step("text", async () => "größer"),
  });
  const { value } = await ctx.listen("approve");
  return { charged, value, bytes: [...both.bytes], text: both.text, isSame: ctx.random() >= 0 };
});

async function inEngine() {
  const store = memoryStore();
  const first = await createEngine({ store, workflows: [order] });
  const run = await first.start(order, 21, { id: "order-1" });
  while ((await run.status()) !== "suspended") await new Promise((done) => setTimeout(done, 5));
  await first.shutdown();
  const second = await createEngine({ store, workflows: [order] });
  await second.send("order-1", "approve", "ann");
  const result = await second.run("order-1").result();
  const page = await second.list({ limit: 1 });
  await second.shutdown();
  return { result, listed: page.items.length };
}

async function inHost() {
  const driver = memoryDriver();
  const run = runWorkflow("order-2", order, 21, driver, { mode: "live" });
  await run.message("approve", "bob");
  return { output: (await run.result).output, keys: driver.entries().length > 5 };
}

const where = "document" in globalThis ? "page" : "worker";
/** @type {unknown} */
let results;
try {
  results = { where, engine: await inEngine(), host: await inHost() };
} catch (error) {
  results = { where, error: error instanceof Error ? error.stack : String(error) };
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
/** @typedef {{ readonly Worker: new (url: string, options: { readonly type: "module" }) => unknown }} Browser */
if (where === "page") {
  const browser = /** @type {Browser} */ (/** @type {unknown} */ (globalThis));
  new browser.Worker("/bundle.js", { type: "module" });
}
