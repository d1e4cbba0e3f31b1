import { StoreError } from "../store-error.ts";
import { CONFLICT_STATE } from "./schema/commit.ts";

/**
 * Classifies errors of the driver and of the server.
 *
 * An error is a store error, which the engine retries, unless it proves a bug of this package. So a server that refuses work (a role that
 * may not log in, a revoked right, a read-only database, a schema that is being restored) is treated like one that does not answer.
 */

/** SQLSTATEs after which a write may or may not have been committed. */
const CONNECTION_LOST = /^(08|57P|25P0[34])/;
const BUSY = new Set(["40001", "40P01", "55P03", "57014"]);
/** The disk is full, or a disk quota is exhausted. */
const FULL = new Set(["53100"]);

/** Classes of errors that the same statement with the same values always gets: cardinality, data, constraints, cursors, syntax, limits. */
const BUG = /^(2[1-4]|26|34|42|54)/;
/** SQLSTATEs of class 42 that an operator causes: a revoked right; a table, function or other object that was dropped or is being restored. */
const REFUSED = new Set(["42501", "42P01", "42883", "42704"]);

/** Rows had changed or ids existed already. The commit must be decided again. */
export function isConflict(error: unknown): boolean {
  const state = stateOf(error instanceof StoreError ? error.cause : error);
  return state === CONFLICT_STATE || state === "23505" || state === "40P01" || state === "40001";
}

/** A prepared statement is missing or belongs to another client: a pooler shared the connection. Nothing was executed. */
export function isLostPreparedStatement(error: unknown): boolean {
  const state = stateOf(error);
  return state === "26000" || state === "42P05";
}

/** Whether the connection must not be used again. */
export function breaksConnection(error: unknown): boolean {
  const state = stateOf(error);
  return state === null || CONNECTION_LOST.test(state);
}

/** Returns a store error, or the error itself if it proves a bug. `sent` means that the statement was sent, so its outcome is unknown if no answer came. */
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
      `PostgreSQL does not respond: ${text}`,
      options,
    );
  }
  if (CONNECTION_LOST.test(state)) {
    return new StoreError(
      "STORE_UNAVAILABLE",
      sent ? "unknown" : "notApplied",
      `the connection was lost: ${text}`,
      options,
    );
  }
  if (FULL.has(state))
    return new StoreError("STORE_FULL", "notApplied", `PostgreSQL is out of space: ${text}`, options);
  if (BUSY.has(state)) return new StoreError("STORE_BUSY", "notApplied", `PostgreSQL is busy: ${text}`, options);
  if (isBug(state)) return error;
  return new StoreError("STORE_UNAVAILABLE", "notApplied", `PostgreSQL refuses (${state}): ${text}`, options);
}

/** Our own conflict, and an id that exists already, are handled by the caller of the statement. */
function isBug(state: string): boolean {
  return state === CONFLICT_STATE || (BUG.test(state) && !REFUSED.has(state));
}

/** The SQLSTATE of a server error. Null for other errors. */
function stateOf(error: unknown): string | null {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === "string" && code.length === 5 && severity !== undefined ? code : null;
}

/** A driver error without a SQLSTATE comes from the connection, unless it is a programming error. */
function isNetworkError(error: unknown): boolean {
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
}
