import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * A further process that takes part in a measurement, such as a second worker. Both sides tell each other messages with a
 * `kind`.
 *
 * @typedef {{ readonly kind: string } & Readonly<Record<string, any>>} Message
 * @typedef {object} Companion
 * @property {(message: Message) => void} tell
 * @property {(kind: string) => Promise<Message>} heard The next message of this kind.
 * @property {(kind: string, listener: (message: Message) => void) => void} on
 * @property {() => Promise<void>} stop Asks it to end and waits until it has.
 */

const CHILD = fileURLToPath(new URL("companion-child.mjs", import.meta.url));

/** @param {string} module Relative to this folder. @param {Readonly<Record<string, unknown>>} options @returns {Companion} */
export function startCompanion(module, options) {
  const child = fork(CHILD, [JSON.stringify({ module, options })], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const { heard, on } = mailbox(child);
  return {
    tell: (message) => void child.send(message),
    heard: (kind) =>
      Promise.race([
        heard(kind),
        ended.then((code) => {
          throw new Error(`${module} ended with ${code} before it said ${kind}`);
        }),
      ]),
    on,
    async stop() {
      child.send({ kind: "stop" });
      await ended;
    },
  };
}

/** Sorts what comes over a channel by its kind. @param {import("node:events").EventEmitter} channel */
export function mailbox(channel) {
  /** @param {string} kind @param {(message: Message) => void} listener */
  const on = (kind, listener) => {
    const each = (/** @type {Message} */ message) => {
      if (message.kind === kind) listener(message);
    };
    channel.on("message", each);
    return () => void channel.off("message", each);
  };
  /** @param {string} kind @returns {Promise<Message>} */
  const heard = (kind) =>
    new Promise((resolve) => {
      const off = on(kind, (message) => {
        off();
        resolve(message);
      });
    });
  return { on, heard };
}
