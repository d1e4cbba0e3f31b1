import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Measures parts one at a time, each in a separate process.
 *
 * @typedef {object} Part One measurement.
 * @property {string} name
 * @property {string} module Relative to this folder.
 * @property {Readonly<Record<string, unknown>>} [options]
 * @property {boolean} [peer] True for another engine. If it fails, its figures contain the reason and the others are still measured.
 * @property {boolean} [killed] True if the process is killed after its result.
 * @property {number} [afterMs] The delay before it starts.
 * @property {string} [node] Another Node, if it needs one.
 *
 * @typedef {{ kind: "measured", value: any } | { kind: "failed", message: string }} PartMessage A message of a part's process.
 */

const CHILD = fileURLToPath(new URL("part-process.mjs", import.meta.url));
/** On a busy host our longest parts take minutes. A peer that hangs is ended sooner. */
const TIMEOUT_MS = { ours: 600_000, peer: 120_000 };
/** The kept length of a peer's stderr, in characters. */
const STDERR_MAX = 2_000;
/** The time from SIGTERM to SIGKILL. */
const END_MS = 5_000;
/** Ctrl-C arrives twice, from the terminal and from the parent command. A later signal counts as a second one. */
const AGAIN_MS = 1_000;
/** The exit code of a command that Ctrl-C has ended. */
export const INTERRUPTED = 130;

/** The benchmark was interrupted: open resources are closed, and nothing is written. */
export class Interrupted extends Error {
  constructor() {
    super("interrupted; nothing was written");
  }
}

/** The child that is measured now. It must not outlive this process. @type {import("node:child_process").ChildProcess | null} */
let current = null;
let interrupted = false;

export function isInterrupted() {
  return interrupted;
}

/** The first signal ends the current part and the benchmark. A second one exits at once. */
export function handleSignals() {
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
      // The stderr of a peer is printed if it fails.
      stdio: peer ? ["ignore", "ignore", "pipe", "ipc"] : ["ignore", "inherit", "inherit", "ipc"],
    });
    current = child;
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text) => {
      stderr = `${stderr}${text}`.slice(-STDERR_MAX);
    });
    const timeoutMs = peer ? TIMEOUT_MS.peer : TIMEOUT_MS.ours;
    let isLate = false;
    /** @type {PartMessage | null} */
    let message = null;
    const timer = setTimeout(() => {
      isLate = true;
      end(child);
    }, timeoutMs);
    child.on("message", (/** @type {PartMessage} */ received) => {
      message = received;
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
      else if (message?.kind === "measured") resolve(message.value);
      else
        reject(
          new Error(reasonOf({ module, message, lateMs: isLate ? timeoutMs : null, ending: signal ?? code, stderr })),
        );
    });
  });
}

/** @param {{ module: string, message: PartMessage | null, lateMs: number | null, ending: string | number | null, stderr: string }} seen */
function reasonOf({ module, message, lateMs, ending, stderr }) {
  if (message?.kind === "failed") return `${module}: ${message.message.split("\n")[0]}`;
  return lateMs === null
    ? [`${module} exited without a result (${ending})`, ...stderr.trim().split("\n").slice(-1)]
        .filter(Boolean)
        .join(": ")
    : `${module} took more than ${lateMs / 1_000} s`;
}
