import { expect, it } from "vitest";
import { StoreError } from "../store-error.ts";
import { breaksConnection, storeErrorOf } from "./errors.ts";

/** As the driver gives what the server says. */
function said(code: string): Error {
  return Object.assign(new Error("said by the server"), { code, severity: "FATAL" });
}

it.each([
  ["25P03", "a transaction that was idle for too long, as in a process that was stopped"],
  ["25P04", "a transaction that took too long"],
  ["57P01", "a server that is shut down"],
  ["57P05", "a session that was idle for too long"],
  ["08006", "a connection that failed"],
])("%s ends the connection: %s; what was sent may have been done", (code) => {
  const error = said(code);
  expect(breaksConnection(error)).toBe(true);
  const sent = storeErrorOf(error, true);
  expect(sent).toBeInstanceOf(StoreError);
  expect(sent).toMatchObject({ code: "STORE_UNAVAILABLE", outcome: "unknown", cause: error });
  expect(storeErrorOf(error, false)).toMatchObject({ outcome: "notApplied" });
});

it("an error of a statement does not break the connection", () => {
  const error = said("42P01");
  expect(breaksConnection(error)).toBe(false);
  expect(storeErrorOf(error, true)).toBe(error);
});
