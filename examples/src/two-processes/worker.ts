/**
 * Executes workflows for all clients of the file until it receives SIGINT or SIGTERM.
 *
 * ```sh
 * node examples/dist/two-processes/worker.js shared.db
 * ```
 */
import { createEngine } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { greeting } from "./greeting.ts";

const [file = "shared.db"] = process.argv.slice(2);
const engine = await createEngine({ store: sqliteStore(file), workflows: [greeting], poll: "100 ms" });
console.log(`worker ${process.pid} is ready on ${file}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void engine.shutdown().then(() => console.log("worker: done")));
}
