/**
 * The page docs/errors.md, made from the catalog of codes: what the code says and what the page says can't differ.
 *
 * @typedef {Readonly<Record<string, { readonly status: number, readonly means: string, readonly fix: string }>>} Catalog
 */

export const ERRORS_PAGE = "docs/errors.md";

const HEAD = `# Errors

<!-- Made by \`npm run docs:errors\` from packages/core/src/model/errors.ts. Change it there. -->

Every error of the public API is a \`PawlError\` with a \`code\`. Test the code, never the message; the message says what
happened, to which id, and what to do.

\`\`\`ts
import { createEngine, memoryStore, PawlError, workflow } from "pawl";

const failing = workflow("failing", async (ctx) => {
  await ctx.step("call", () => Promise.reject(new Error("connection refused")), { retry: false });
});

const engine = await createEngine({ store: memoryStore(), workflows: [failing] });
const run = await engine.start(failing, undefined, { id: "failing-1" });
try {
  await run.result();
} catch (error) {
  if (!(error instanceof PawlError)) throw error;
  console.log(error.code);
  console.log(error.message);
  console.log(error.cause instanceof Error ? error.cause.message : "");
}
await engine.shutdown();
\`\`\`

\`\`\`text
RUN_FAILED
run failing-1 failed: connection refused
connection refused
\`\`\`

What your own code throws keeps its name, message, code, causes and data, also after a crash and in the journal.

A read (\`get\`, \`list\`, \`journal\` and so on) that can't reach the store throws a \`StoreError\`, code \`STORE_BUSY\`,
\`STORE_FULL\` or \`STORE_UNAVAILABLE\`: nothing happened, and it may be repeated.

## Codes

\`ERRORS\` of \`pawl\` holds this list as data. \`status\` is the HTTP status that fits, for servers of your own.
`;

/** @param {Catalog} errors */
export function errorsPage(errors) {
  const entries = Object.entries(errors).map(
    ([code, { status, means, fix }]) => `### ${code}\n\n${means}\n\n*What to do:* ${fix} (status ${status})\n`,
  );
  return [HEAD, ...entries].join("\n");
}
