import { StoreError } from "../store-error.ts";

/**
 * Classifies errors of the driver and of the server.
 *
 * An error is a store error, which the engine retries, unless it proves a bug of this package. So a server that refuses work (a user without
 * a right, a replica, a server that loads its data) is treated like one that does not answer.
 */

/** Codes of a server that cannot execute commands for a time. Nothing was written. */
const BUSY = ["BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS"];
/** Codes of a server that cannot write because its memory or its disk is full. */
const FULL = ["OOM", "MISCONF"];
/** Client errors for commands that were not sent. */
const UNSENT = ["ClientOfflineError", "ClientClosedError"];

/** Error replies that the same command always gets: errors of a script, and commands, arguments and keys that do not fit together. */
const BUG =
  /^(WRONGTYPE|CROSSSLOT|ERR (user_script|Error (compiling|running) script|wrong number of arg|syntax error|Write commands are not allowed|Script attempted))/i;

/** Returns a store error, or the error itself if it proves a bug. After a broken connection the outcome is unknown. */
export function storeErrorOf(cause: unknown): unknown {
  if (cause instanceof StoreError) return cause;
  if (!(cause instanceof Error) || cause instanceof TypeError || cause instanceof RangeError) return cause;
  const { name } = cause.constructor;
  if (name === "SimpleError" || name === "BlobError" || name === "ErrorReply") return replyErrorOf(cause);
  return storeError("STORE_UNAVAILABLE", UNSENT.includes(name) ? "notApplied" : "unknown", cause);
}

/** A right of a user is checked at each command, so a script that lacks one may have written something. */
function replyErrorOf(cause: Error): unknown {
  const word = cause.message.split(" ", 1)[0] ?? "";
  if (BUSY.includes(word)) return storeError("STORE_BUSY", "notApplied", cause);
  if (FULL.includes(word)) return storeError("STORE_FULL", "notApplied", cause);
  return BUG.test(cause.message) ? cause : storeError("STORE_UNAVAILABLE", "unknown", cause);
}

function storeError(code: StoreError["code"], outcome: StoreError["outcome"], cause: Error): StoreError {
  return new StoreError(code, outcome, `Redis: ${cause.message || cause.constructor.name}`, { cause });
}
