import { mailbox } from "./companion.mjs";

/** A companion's process: its module gets what it was started with and a way to tell and to hear. */

const { module, options } = JSON.parse(process.argv[2]);
const { takePart } = await import(`./${module}.mjs`);
const { on, heard } = mailbox(process);
const stopped = heard("stop");
process.on("disconnect", () => process.exit(1));
await takePart(options, { on, heard, stopped, tell: (message) => void process.send?.(message) });
process.exit(0);
