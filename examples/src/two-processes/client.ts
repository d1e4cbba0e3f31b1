/**
 * Starts a run, sends it a message and waits for its result; a worker on the same file does the work. Without `workflows`
 * an engine is a client.
 *
 * ```sh
 * node examples/dist/two-processes/client.js shared.db
 * ```
 */
import { createEngine } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { greeting } from "./greeting.ts";

const [file = "shared.db"] = process.argv.slice(2);
const engine = await createEngine({ store: sqliteStore(file), poll: "100 ms" });

const run = await engine.start(greeting, { name: "ann" });
await run.send("seen", { by: process.pid });
const { text, seenBy } = await run.result();
console.log(text);
console.log(`seen by process ${seenBy}`);

await engine.shutdown();
