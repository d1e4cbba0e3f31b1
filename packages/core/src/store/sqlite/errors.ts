import { StoreError } from "../store-error.ts";

/** SQLite result codes that mean the database could not be used. */
const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CONSTRAINT = 19;
const CANTOPEN = 14;
const NOTADB = 26;

const UNAVAILABLE: readonly number[] = [NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN, NOTADB];

/**
 * Returns a store error, or the error itself if it is a mistake in a statement.
 *
 * Before COMMIT, a rollback undoes everything. After an I/O error in COMMIT the outcome is unknown.
 */
export function storeErrorOf(error: unknown, phase: "work" | "commit"): unknown {
  const code = resultCode(error);
  const text = error instanceof Error ? error.message : String(error);
  if (code === BUSY || code === LOCKED) {
    return new StoreError("STORE_BUSY", "notApplied", `another process is writing to the database: ${text}`, {
      cause: error,
    });
  }
  if (code === FULL) {
    return new StoreError("STORE_FULL", "notApplied", `there is no room for the database to grow: ${text}`, {
      cause: error,
    });
  }
  if (code === null || !UNAVAILABLE.includes(code)) return error;
  const outcome = phase === "commit" ? "unknown" : "notApplied";
  return new StoreError("STORE_UNAVAILABLE", outcome, `the database can't be read or written: ${text}`, {
    cause: error,
  });
}

/** Whether the connection's view of the file may be wrong, so that the file must be reopened. */
export function needsReopen(error: unknown): boolean {
  const code = resultCode(error);
  return code === IOERR || code === CORRUPT || code === NOTADB;
}

/** Whether a constraint was violated. */
export function isConstraint(error: unknown): boolean {
  return resultCode(error) === CONSTRAINT;
}

const NAMES: Readonly<Record<string, number>> = {
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: LOCKED,
  SQLITE_NOMEM: NOMEM,
  SQLITE_READONLY: READONLY,
  SQLITE_IOERR: IOERR,
  SQLITE_CORRUPT: CORRUPT,
  SQLITE_FULL: FULL,
  SQLITE_CONSTRAINT: CONSTRAINT,
  SQLITE_CANTOPEN: CANTOPEN,
  SQLITE_NOTADB: NOTADB,
};

/** The primary result code: `node:sqlite` gives a number, better-sqlite3 a name. */
function resultCode(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { errcode, code } = error as { readonly errcode?: unknown; readonly code?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (typeof code !== "string") return null;
  const name = Object.keys(NAMES).find((known) => code === known || code.startsWith(`${known}_`));
  return name === undefined ? null : (NAMES[name] ?? null);
}

/**
 * User code made the whole batch roll back: SQLite rolled back at one of its statements, or refused to commit its changes.
 */
export class BatchRolledBack extends Error {
  override readonly name = "BatchRolledBack";
}
