/**
 * One measurement in a process of its own: the parent names a module and what to give it, and is told what was measured, or why
 * that failed.
 *
 * @import { Told } from "./spawn.mjs"
 */

// Whatever it has started ends with it, and it ends with its parent.
for (const event of ["SIGINT", "SIGTERM", "disconnect"]) process.on(event, () => process.exit(1));
process.on("uncaughtException", (error) => tell({ kind: "failed", message: String(error) }, 1));

const { module, options } = JSON.parse(process.argv[2]);
const { measure } = await import(`./${module}.mjs`);
tell({ kind: "measured", value: await measure(options) }, 0);

/** @param {Told} told @param {number} code */
function tell(told, code) {
  process.send?.(told, () => process.exit(code));
}
