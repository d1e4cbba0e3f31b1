import { StoreError } from "../store-error.ts";

/** Words that an answer of the server begins with when it could not do its work for a while. Nothing was written. */
const BUSY = ["BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS"];
/** It can't write: its memory is used up, or its disk. */
const FULL = ["OOM", "MISCONF"];
/** The command was never sent. */
const UNSENT = ["ClientOfflineError", "ClientClosedError"];

/**
 * What a failed command means. An answer of the server is one: the script was refused before it wrote. A connection that broke
 * tells nothing: the script may have run. Null: neither, so it is a mistake of ours.
 */
export function storeErrorOf(cause: unknown): StoreError | null {
  if (!(cause instanceof Error)) return null;
  const { name } = cause.constructor;
  const word = cause.message.split(" ", 1)[0] ?? "";
  if (name === "SimpleError" || name === "BlobError" || name === "ErrorReply") {
    if (BUSY.includes(word)) return storeError("STORE_BUSY", "notApplied", cause);
    return FULL.includes(word) ? storeError("STORE_FULL", "notApplied", cause) : null;
  }
  return storeError("STORE_UNAVAILABLE", UNSENT.includes(name) ? "notApplied" : "unknown", cause);
}

function storeError(code: StoreError["code"], outcome: StoreError["outcome"], cause: Error): StoreError {
  return new StoreError(code, outcome, `Redis: ${cause.message || cause.constructor.name}`, { cause });
}
