import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Parts are measured one at a time, each in a process of its own.
 *
 * @typedef {object} Part One measurement.
 * @property {string} name
 * @property {string} module Relative to this folder.
 * @property {Readonly<Record<string, unknown>>} [options]
 * @property {boolean} [peer] It is not ours: when it fails its figures say so, and the others go on.
 * @property {boolean} [killed] It is killed when it has given its result: it does not end by itself.
 * @property {number} [afterMs] How long to wait before it begins.
 * @property {string} [node] The Node that it needs, where it can't be this one.
 *
 * @typedef {{ kind: "measured", value: any } | { kind: "failed", message: string }} Told What a part's process says.
 */

const CHILD = fileURLToPath(new URL("child.mjs", import.meta.url));
/** On a machine with other work the longest of ours take minutes; a peer that hangs must not. */
const TIMEOUT_MS = { ours: 600_000, peer: 120_000 };
/** In letters. */
const SAID_MAX = 2_000;
/** One that does not end when it is asked to has this long. */
const END_MS = 5_000;
/** A terminal and the command above this one tell of the same Ctrl-C: it is another one only after so long. */
const AGAIN_MS = 1_000;
/** What a shell says of a command that Ctrl-C has ended. */
export const INTERRUPTED = 130;

/** Somebody wants the whole to end: what is open is closed, and nothing is written. */
export class Interrupted extends Error {
  constructor() {
    super("stopped before its end; nothing was written");
  }
}

/** The child that is measured at the moment: it must not outlive this process. @type {import("node:child_process").ChildProcess | null} */
let current = null;
let interrupted = false;

export function isInterrupted() {
  return interrupted;
}

/** The first signal ends what is measured, in order; one that comes later does not wait for that. */
export function heedSignals() {
  process.on("exit", () => current?.kill("SIGTERM"));
  let firstAt = Number.POSITIVE_INFINITY;
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      if (performance.now() - firstAt > AGAIN_MS) process.exit(INTERRUPTED);
      if (interrupted) return;
      interrupted = true;
      firstAt = performance.now();
      end(current);
    });
  }
}

/** @param {import("node:child_process").ChildProcess | null} child */
function end(child) {
  child?.kill("SIGTERM");
  setTimeout(() => child?.kill("SIGKILL"), END_MS).unref();
}

/** @param {Part} part @param {import("./place.mjs").Place} place @returns {Promise<any>} */
export function runPart({ module, options = {}, peer = false, killed = false, node = process.execPath }, place) {
  if (interrupted) return Promise.reject(new Interrupted());
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [JSON.stringify({ module, options: { ...options, place } })], {
      execPath: node,
      execArgv: ["--expose-gc", "--no-deprecation"],
      // What a peer says while it works is of interest when it fails.
      stdio: peer ? ["ignore", "ignore", "pipe", "ipc"] : ["ignore", "inherit", "inherit", "ipc"],
    });
    current = child;
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text) => {
      said = `${said}${text}`.slice(-SAID_MAX);
    });
    const timeoutMs = peer ? TIMEOUT_MS.peer : TIMEOUT_MS.ours;
    let isLate = false;
    /** @type {Told | null} */
    let told = null;
    const timer = setTimeout(() => {
      isLate = true;
      end(child);
    }, timeoutMs);
    child.on("message", (/** @type {Told} */ message) => {
      told = message;
      if (killed) child.kill("SIGKILL");
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      current = null;
      reject(error);
    });
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      current = null;
      if (interrupted) reject(new Interrupted());
      else if (told?.kind === "measured") resolve(told.value);
      else
        reject(new Error(reasonOf({ module, told, lateMs: isLate ? timeoutMs : null, ending: signal ?? code, said })));
    });
  });
}

/** @param {{ module: string, told: Told | null, lateMs: number | null, ending: string | number | null, said: string }} seen */
function reasonOf({ module, told, lateMs, ending, said }) {
  if (told?.kind === "failed") return `${module}: ${told.message.split("\n")[0]}`;
  return lateMs === null
    ? [`${module} ended without a result (${ending})`, ...said.trim().split("\n").slice(-1)].filter(Boolean).join(": ")
    : `${module} took more than ${lateMs / 1_000} s`;
}
