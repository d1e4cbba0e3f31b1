import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const CHILD = fileURLToPath(new URL("child.mjs", import.meta.url));
const TIMEOUT_MS = 180_000;

/**
 * @typedef {object} Part One measurement.
 * @property {string} name
 * @property {string} module Relative to this folder.
 * @property {Readonly<Record<string, unknown>>} [options]
 * @property {boolean} [killed] It is killed when it has given its result: it does not end by itself.
 * @property {number} [afterMs] How long to wait before it begins.
 * @property {string} [node] The Node that it needs, where it can't be this one.
 */

/** The child that is measured at the moment: it must not outlive this process. @type {import("node:child_process").ChildProcess | null} */
let current = null;
process.on("exit", () => current?.kill("SIGTERM"));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** @param {Part} part @param {import("./place.mjs").Place} place @returns {Promise<any>} */
export function runPart({ module, options = {}, killed = false, node = process.execPath }, place) {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [JSON.stringify({ module, options: { ...options, place } })], {
      execPath: node,
      execArgv: ["--expose-gc", "--no-deprecation"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    current = child;
    /** @type {{ value: any } | null} */
    let result = null;
    const timer = setTimeout(() => child.kill("SIGTERM"), TIMEOUT_MS);
    child.on("message", (value) => {
      result = { value };
      if (killed) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      current = null;
      if (result === null) reject(new Error(`${module} ended without a result (${signal ?? code})`));
      else resolve(result.value);
    });
  });
}
