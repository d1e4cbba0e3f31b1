import { expect, it } from "vitest";
import { record } from "../testing/store-contract/builders.ts";
import { JournalCursor } from "./journal-cursor.ts";

it("what is no program's own is no history of it: acts and warnings that are to come do not count", () => {
  const cursor = new JournalCursor([
    record(1),
    record(2, { kind: "warning", location: "~maxRunDuration" }),
    record(3, { kind: "operator", location: "~" }),
  ]);
  expect(cursor.continues("")).toBe(true);
  cursor.advance();
  expect([cursor.continues(""), cursor.done]).toEqual([false, false]);
  cursor.advance();
  cursor.advance();
  expect([cursor.continues(""), cursor.done]).toEqual([false, true]);
});
