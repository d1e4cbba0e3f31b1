import { PawlError } from "./errors.ts";
import { isRecordedError } from "./failure.ts";
import { objectKind, read } from "./payload-values.ts";

/** The classes of errors that report a mistake in code. A class derived from one is an error of the application. */
const CLASSES: ReadonlySet<unknown> = new Set([
  "TypeError",
  "ReferenceError",
  "RangeError",
  "SyntaxError",
  "AssertionError",
]);
/** How deep errors of branches in errors of branches are searched. */
const DEPTH_MAX = 8;

/**
 * Returns the programming error that workflow code has thrown, itself or in a branch of a join or a race. Null if the code has thrown
 * no such error. The recorded failure of a step, a child or a wait is none: another execution would not change it.
 */
export function codeErrorIn(thrown: unknown, depth = 0): Error | null {
  if (typeof thrown !== "object" || thrown === null || depth > DEPTH_MAX) return null;
  if (isCodeError(thrown)) return thrown;
  const errors = read(thrown, "errors");
  if (objectKind(thrown) !== "error" || typeof errors !== "object" || errors === null) return null;
  for (const error of Object.values(errors)) {
    const found = codeErrorIn(error, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function isCodeError(thrown: object): thrown is Error {
  if (objectKind(thrown) !== "error" || isRecordedError(thrown)) return false;
  const made = read(thrown, "constructor");
  return typeof made === "function" && CLASSES.has(made.name);
}

/** The reason of the pause. `revision` is that of the code, so that a worker with another one can resume the run. */
export interface CodeErrorFields {
  readonly revision: string | null;
}

/** The error that pauses a run whose code has thrown a programming error. */
export function codeError(
  run: { readonly id: string; readonly workflow: string },
  cause: Error,
  revision: string | null,
): PawlError {
  const message =
    `run ${run.id} is paused: the code of workflow ${run.workflow} threw ${String(read(cause, "name"))}: ` +
    `${String(read(cause, "message"))}; nothing was undone; deploy fixed code, then resume the run`;
  return Object.assign(new PawlError("CODE_ERROR", message, { cause }), { revision } satisfies CodeErrorFields);
}
