import { messagesOf } from "./helper-process.mjs";

/** The process of a helper. Its module receives the options and functions to send and receive messages. */

const { module, options } = JSON.parse(process.argv[2]);
const { runHelper } = await import(`./${module}.mjs`);
const { on, received } = messagesOf(process);
const stopped = received("stop");
process.on("disconnect", () => process.exit(1));
await runHelper(options, { on, received, stopped, send: (message) => void process.send?.(message) });
process.exit(0);
