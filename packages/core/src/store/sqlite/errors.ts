import { StoreError } from "../store-error.ts";

/** SQLite's result codes, as far as they say that the database could not do its work. */
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
 * The error as the engine knows it, or the error itself when it tells of a mistake in a statement.
 *
 * Before COMMIT nothing has been written that a rollback does not take back. A COMMIT that failed in I/O may be on the disk
 * or not: that is unknown.
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

/** After these the connection's view of the file can't be trusted: it has to be opened anew. */
export function needsReopen(error: unknown): boolean {
  const code = resultCode(error);
  return code === IOERR || code === CORRUPT || code === NOTADB;
}

/** A rule of the schema was broken. */
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
 * The whole batch is rolled back on account of a transaction in it: the database took everything back at one of its
 * statements, or refused to commit what it had left behind.
 */
export class BatchRolledBack extends Error {
  override readonly name = "SpoiledBatch";
}
