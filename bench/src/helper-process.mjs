import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * An additional process of a measurement, such as a second worker. Both sides send messages with a `kind`.
 *
 * @typedef {{ readonly kind: string } & Readonly<Record<string, any>>} Message
 * @typedef {object} HelperProcess
 * @property {(message: Message) => void} send
 * @property {(kind: string) => Promise<Message>} received The next message of this kind.
 * @property {(kind: string, listener: (message: Message) => void) => void} on
 * @property {() => Promise<void>} stop Requests it to exit and waits until it has.
 */

const CHILD = fileURLToPath(new URL("helper-process-child.mjs", import.meta.url));

/** @param {string} module Relative to this folder. @param {Readonly<Record<string, unknown>>} options @returns {HelperProcess} */
export function startHelper(module, options) {
  const child = fork(CHILD, [JSON.stringify({ module, options })], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const { received, on } = messagesOf(child);
  return {
    send: (message) => void child.send(message),
    received: (kind) =>
      Promise.race([
        received(kind),
        ended.then((code) => {
          throw new Error(`${module} exited with ${code} before it sent ${kind}`);
        }),
      ]),
    on,
    async stop() {
      child.send({ kind: "stop" });
      await ended;
    },
  };
}

/** Dispatches the messages of a channel by kind. @param {import("node:events").EventEmitter} channel */
export function messagesOf(channel) {
  /** @param {string} kind @param {(message: Message) => void} listener */
  const on = (kind, listener) => {
    const each = (/** @type {Message} */ message) => {
      if (message.kind === kind) listener(message);
    };
    channel.on("message", each);
    return () => void channel.off("message", each);
  };
  /** @param {string} kind @returns {Promise<Message>} */
  const received = (kind) =>
    new Promise((resolve) => {
      const off = on(kind, (message) => {
        off();
        resolve(message);
      });
    });
  return { on, received };
}
