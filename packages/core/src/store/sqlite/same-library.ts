import type { SqliteStatement } from "./driver.ts";

interface Preparing {
  prepare(sql: string): Pick<SqliteStatement, "get">;
}

/** Heap limits above this one have no effect. */
const MARK_MIN = 2 ** 52;

/** Another thread that shares the library may set the limit at the same time. */
const ATTEMPTS = 5;

let marks = 0;

/**
 * Whether two connections use the same copy of the SQLite library. Each copy has one soft heap limit for all its connections, so a value
 * that is set through one connection is read through the other. The values set here limit nothing.
 */
export function isSameLibrary(own: Preparing, other: Preparing): boolean {
  if (own === other) return true;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) if (sharesMark(own, other)) return true;
  return false;
}

function sharesMark(own: Preparing, other: Preparing): boolean {
  const before = limitOf(own, "soft_heap_limit");
  const hardLimit = limitOf(own, "hard_heap_limit");
  marks += 1;
  // A soft limit cannot exceed the hard one.
  const mark = hardLimit > marks ? hardLimit - marks : MARK_MIN + marks;
  setLimit(own, mark);
  try {
    return limitOf(other, "soft_heap_limit") === mark;
  } finally {
    setLimit(own, before > MARK_MIN ? 0 : before);
  }
}

/** SQLite reads the limit when it compiles the statement, so a statement cannot be kept. */
function limitOf(connection: Preparing, name: "soft_heap_limit" | "hard_heap_limit"): number {
  return (connection.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>)[name] ?? 0;
}

function setLimit(connection: Preparing, limit: number): void {
  connection.prepare(`PRAGMA soft_heap_limit = ${limit}`).get();
}
