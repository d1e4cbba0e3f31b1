/**
 * Starts a run, sends it a message and waits for its result. A worker on the same file executes the run. A client does not need the code
 * of the workflow: it declares its name and types.
 *
 * ```sh
 * node examples/dist/two-processes/client.js shared.db
 * ```
 */
import { createClient, declareWorkflow } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import type { Greeted } from "./greeting.ts";

const greeting = declareWorkflow<{ readonly name: string }, Greeted>("greeting");

const [file = "shared.db"] = process.argv.slice(2);
const client = await createClient({ store: sqliteStore(file), poll: "100 ms" });

const run = await client.start(greeting, { name: "ann" });
await run.send("seen", { by: process.pid });
const { text, seenBy } = await run.result();
console.log(text);
console.log(`seen by process ${seenBy}`);

await client.close();
