/**
 * Parallel steps with plain `Promise.all`. One step fails twice and is retried; the others do not wait for it. After a crash only steps
 * without a record are executed.
 */
import { createEngine, memoryStore, workflow } from "pawl";

const pages = ["home", "docs", "about", "contact"];

/** A stand-in for a call of an unreliable service. */
function fetchTitle(page: string, attempt: number): string {
  if (page === "about" && attempt < 3) throw new Error("503");
  return `title of ${page}`;
}

const crawl = workflow("crawl", async (ctx, input: { readonly pages: readonly string[] }) => {
  const titles = await Promise.all(
    input.pages.map((page) =>
      ctx.step(`fetch ${page}`, ({ attempt }) => fetchTitle(page, attempt), {
        retry: { maxAttempts: 5, initialMs: 10 },
      }),
    ),
  );
  return await ctx.step("index", () => titles.length);
});

const engine = await createEngine({ store: memoryStore(), workflows: [crawl] });
const run = await engine.start(crawl, { pages });
console.log(`indexed ${await run.result()} pages`);

for (const record of await run.journal()) {
  if (record.kind === "step") console.log(`${record.location}: ${record.attempts} attempts`);
}
await engine.shutdown();
