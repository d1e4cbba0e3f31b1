/**
 * Executes one measurement in a separate process. The parent passes a module and its options, and receives the result or the error.
 *
 * @import { PartMessage } from "./spawn.mjs"
 */

// The process exits with its parent.
for (const event of ["SIGINT", "SIGTERM", "disconnect"]) process.on(event, () => process.exit(1));
process.on("uncaughtException", (error) => sendAndExit({ kind: "failed", message: String(error) }, 1));

const { module, options } = JSON.parse(process.argv[2]);
const { measure } = await import(`./${module}.mjs`);
sendAndExit({ kind: "measured", value: await measure(options) }, 0);

/** @param {PartMessage} message @param {number} code */
function sendAndExit(message, code) {
  process.send?.(message, () => process.exit(code));
}
