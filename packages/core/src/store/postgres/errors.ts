import { StoreError } from "../store-error.ts";
import { CONFLICT_STATE } from "./schema/commit.ts";

/** What errors of the driver and of the server mean. */

/** Conditions of the server under which the statement, if it was one that writes, may have been committed. */
const SEVERED = /^(08|57P|25P0[34])/;
const BUSY = new Set(["40001", "40P01", "55P03", "57014"]);
const FULL = new Set(["53100"]);
/** Out of connections or memory, or a server that only reads. */
const UNAVAILABLE = /^(53|25006|58)/;

/** Rows that were not as they were seen, or ids that were not new: decided anew, the commit gets its answer. */
export function isConflict(error: unknown): boolean {
  const state = stateOf(error instanceof StoreError ? error.cause : error);
  return state === CONFLICT_STATE || state === "23505" || state === "40P01" || state === "40001";
}

/** A prepared statement is not there, or another's is: the connection has been given to others in between. Nothing was done. */
export function isOfAnotherSession(error: unknown): boolean {
  const state = stateOf(error);
  return state === "26000" || state === "42P05";
}

/** Whether the connection must not be used again. */
export function breaksConnection(error: unknown): boolean {
  const state = stateOf(error);
  return state === null || SEVERED.test(state);
}

/** `sent`: the statement was on its way, so that what has become of it is unknown when no answer came. */
export function storeErrorOf(error: unknown, sent: boolean): unknown {
  if (error instanceof StoreError) return error;
  const state = stateOf(error);
  const text = error instanceof Error ? error.message || error.name : String(error);
  const options = { cause: error };
  if (state === null) {
    if (!isNetworkError(error)) return error;
    return new StoreError(
      "STORE_UNAVAILABLE",
      sent ? "unknown" : "notApplied",
      `PostgreSQL does not answer: ${text}`,
      options,
    );
  }
  if (SEVERED.test(state)) {
    return new StoreError(
      "STORE_UNAVAILABLE",
      sent ? "unknown" : "notApplied",
      `the connection ended: ${text}`,
      options,
    );
  }
  if (FULL.has(state)) return new StoreError("STORE_FULL", "notApplied", `PostgreSQL has no room: ${text}`, options);
  if (BUSY.has(state)) return new StoreError("STORE_BUSY", "notApplied", `PostgreSQL is busy: ${text}`, options);
  if (UNAVAILABLE.test(state)) {
    return new StoreError("STORE_UNAVAILABLE", "notApplied", `PostgreSQL can't write: ${text}`, options);
  }
  return error;
}

/** The five characters by which the server names a condition; null: the error is not the server's. */
function stateOf(error: unknown): string | null {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === "string" && code.length === 5 && severity !== undefined ? code : null;
}

/** An error of the driver that names no condition comes from the connection, unless it is a mistake in the program. */
function isNetworkError(error: unknown): boolean {
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
}
