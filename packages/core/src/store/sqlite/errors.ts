import { StoreError } from "../store-error.ts";

/**
 * Result codes of SQLite that do not prove a bug of this package: the file, the disk, the memory or another process is the cause. `ERROR`,
 * `INTERNAL`, `NOTFOUND`, `TOOBIG`, `MISMATCH`, `MISUSE` and `RANGE` are caused by a statement or its values.
 */
const PERM = 3;
const ABORT = 4;
const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const INTERRUPT = 9;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const SCHEMA = 17;
const CONSTRAINT = 19;
const NOLFS = 22;
const AUTH = 23;
const NOTADB = 26;

const UNAVAILABLE: readonly number[] = [
  PERM,
  ABORT,
  NOMEM,
  READONLY,
  INTERRUPT,
  IOERR,
  CORRUPT,
  CANTOPEN,
  NOLFS,
  AUTH,
  NOTADB,
];
/** Another process holds a lock, or changed the schema while this one used it. */
const CONTENDED: readonly number[] = [BUSY, LOCKED, PROTOCOL, SCHEMA];

/**
 * Returns a store error, or the error itself if it is a mistake in a statement.
 *
 * Before COMMIT, a rollback undoes everything. After an I/O error in COMMIT the outcome is unknown.
 */
export function storeErrorOf(error: unknown, phase: "work" | "commit"): unknown {
  const code = resultCode(error);
  const text = textOf(error);
  if (code !== null && CONTENDED.includes(code)) {
    return new StoreError("STORE_BUSY", "notApplied", `another process is writing to the database: ${text}`, {
      cause: error,
    });
  }
  if (code === FULL) {
    return new StoreError("STORE_FULL", "notApplied", `the database cannot grow: ${text}`, {
      cause: error,
    });
  }
  if (code === null || !UNAVAILABLE.includes(code)) return error;
  const outcome = phase === "commit" ? "unknown" : "notApplied";
  return new StoreError("STORE_UNAVAILABLE", outcome, `the database cannot be read or written: ${text}`, {
    cause: error,
  });
}

/** As `storeErrorOf`, for an error of opening the file. SQLite does not name the file. */
export function openErrorOf(error: unknown, path: string): unknown {
  const known = storeErrorOf(error, "work");
  if (!(known instanceof StoreError)) return known;
  const text = `the SQLite file ${path} cannot be opened: ${textOf(known.cause)}`;
  return new StoreError(known.code, known.outcome, text, { cause: known.cause });
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

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const NAMES: Readonly<Record<string, number>> = {
  SQLITE_PERM: PERM,
  SQLITE_ABORT: ABORT,
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: LOCKED,
  SQLITE_NOMEM: NOMEM,
  SQLITE_READONLY: READONLY,
  SQLITE_INTERRUPT: INTERRUPT,
  SQLITE_IOERR: IOERR,
  SQLITE_CORRUPT: CORRUPT,
  SQLITE_FULL: FULL,
  SQLITE_CANTOPEN: CANTOPEN,
  SQLITE_PROTOCOL: PROTOCOL,
  SQLITE_SCHEMA: SCHEMA,
  SQLITE_CONSTRAINT: CONSTRAINT,
  SQLITE_NOLFS: NOLFS,
  SQLITE_AUTH: AUTH,
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
