import { expect, it } from "vitest";
import { storeErrorOf } from "./errors.ts";

const numbered = (errcode: number): Error => Object.assign(new Error("reported by SQLite"), { errcode });
const named = (code: string): Error => Object.assign(new Error("reported by SQLite"), { code });

it.each([
  [3, "SQLITE_PERM", "STORE_UNAVAILABLE"],
  [4, "SQLITE_ABORT", "STORE_UNAVAILABLE"],
  [4 | (2 << 8), "SQLITE_ABORT_ROLLBACK", "STORE_UNAVAILABLE"],
  [5, "SQLITE_BUSY", "STORE_BUSY"],
  [5 | (2 << 8), "SQLITE_BUSY_SNAPSHOT", "STORE_BUSY"],
  [6, "SQLITE_LOCKED", "STORE_BUSY"],
  [7, "SQLITE_NOMEM", "STORE_UNAVAILABLE"],
  [8, "SQLITE_READONLY", "STORE_UNAVAILABLE"],
  [9, "SQLITE_INTERRUPT", "STORE_UNAVAILABLE"],
  [10 | (4 << 8), "SQLITE_IOERR_FSYNC", "STORE_UNAVAILABLE"],
  [11, "SQLITE_CORRUPT", "STORE_UNAVAILABLE"],
  [13, "SQLITE_FULL", "STORE_FULL"],
  [14, "SQLITE_CANTOPEN", "STORE_UNAVAILABLE"],
  [15, "SQLITE_PROTOCOL", "STORE_BUSY"],
  [17, "SQLITE_SCHEMA", "STORE_BUSY"],
  [22, "SQLITE_NOLFS", "STORE_UNAVAILABLE"],
  [23, "SQLITE_AUTH", "STORE_UNAVAILABLE"],
  [26, "SQLITE_NOTADB", "STORE_UNAVAILABLE"],
])("the result code %i (%s) is a store error with code %s", (number, name, code) => {
  for (const error of [numbered(number), named(name)]) {
    expect(storeErrorOf(error, "work")).toMatchObject({
      name: "StoreError",
      code,
      outcome: "notApplied",
      cause: error,
    });
  }
});

it.each([
  [1, "SQLITE_ERROR"],
  [2, "SQLITE_INTERNAL"],
  [18, "SQLITE_TOOBIG"],
  [19, "SQLITE_CONSTRAINT"],
  [20, "SQLITE_MISMATCH"],
  [21, "SQLITE_MISUSE"],
  [25, "SQLITE_RANGE"],
])("the result code %i (%s) proves a bug and passes unchanged", (number, name) => {
  for (const error of [numbered(number), named(name)]) expect(storeErrorOf(error, "work")).toBe(error);
});

it("an I/O error in COMMIT has an unknown outcome", () => {
  expect(storeErrorOf(numbered(10), "commit")).toMatchObject({ outcome: "unknown" });
});
