import { expect, it } from "vitest";
import { StoreError } from "../store-error.ts";
import { breaksConnection, storeErrorOf } from "./errors.ts";

/** An error of the server, as the driver throws it. */
function serverError(code: string): Error {
  return Object.assign(new Error("reported by the server"), { code, severity: "ERROR" });
}

it.each([
  ["25P03", "a transaction that was idle for too long, as in a process that was stopped"],
  ["25P04", "a transaction that took too long"],
  ["57P01", "a server that is shut down"],
  ["57P05", "a session that was idle for too long"],
  ["08006", "a connection that failed"],
])("SQLSTATE %s breaks the connection, so the outcome is unknown: %s", (code) => {
  const error = serverError(code);
  expect(breaksConnection(error)).toBe(true);
  const sent = storeErrorOf(error, true);
  expect(sent).toBeInstanceOf(StoreError);
  expect(sent).toMatchObject({ code: "STORE_UNAVAILABLE", outcome: "unknown", cause: error });
  expect(storeErrorOf(error, false)).toMatchObject({ outcome: "notApplied" });
});

it.each([
  ["28000", "STORE_UNAVAILABLE", "a role that may not log in"],
  ["28P01", "STORE_UNAVAILABLE", "a changed password"],
  ["42501", "STORE_UNAVAILABLE", "a revoked right"],
  ["25006", "STORE_UNAVAILABLE", "a read-only database"],
  ["3D000", "STORE_UNAVAILABLE", "a database that was renamed"],
  ["3F000", "STORE_UNAVAILABLE", "a schema that is being restored"],
  ["42P01", "STORE_UNAVAILABLE", "a table that is being restored"],
  ["42883", "STORE_UNAVAILABLE", "a function that is being restored"],
  ["0A000", "STORE_UNAVAILABLE", "a cached plan of a table that was changed"],
  ["25P01", "STORE_UNAVAILABLE", "a pooler that shares a connection between statements"],
  ["53300", "STORE_UNAVAILABLE", "too many connections"],
  ["53100", "STORE_FULL", "a full disk"],
  ["55006", "STORE_UNAVAILABLE", "an object in use"],
  ["57014", "STORE_BUSY", "a cancelled statement"],
  ["58030", "STORE_UNAVAILABLE", "an I/O error"],
  ["P0001", "STORE_UNAVAILABLE", "an exception of a trigger that an operator added"],
  ["XX000", "STORE_UNAVAILABLE", "an internal error"],
  ["XX002", "STORE_UNAVAILABLE", "a corrupted index"],
  ["ZZ999", "STORE_UNAVAILABLE", "a code that no version has yet"],
])("%s is a store error with code %s: %s", (state, code) => {
  const error = serverError(state);
  expect(breaksConnection(error)).toBe(false);
  expect(storeErrorOf(error, true)).toMatchObject({ name: "StoreError", code, outcome: "notApplied", cause: error });
});

it.each(["42601", "42703", "42804", "22P02", "22003", "23502", "21000", "54000", "26000", "PW001"])(
  "%s proves a bug and passes unchanged",
  (state) => {
    const error = serverError(state);
    expect(breaksConnection(error)).toBe(false);
    expect(storeErrorOf(error, true)).toBe(error);
  },
);

it("an error of the driver is a store error unless it is a programming error", () => {
  const lost = new Error("Connection terminated unexpectedly");
  expect(storeErrorOf(lost, true)).toMatchObject({ code: "STORE_UNAVAILABLE", outcome: "unknown" });
  expect(breaksConnection(lost)).toBe(true);
  const bug = new TypeError("values is not iterable");
  expect(storeErrorOf(bug, true)).toBe(bug);
});
