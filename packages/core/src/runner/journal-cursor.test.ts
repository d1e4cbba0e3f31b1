import { expect, it } from "vitest";
import { record } from "../testing/store-contract/builders.ts";
import { JournalCursor } from "./journal-cursor.ts";

it("operator and warning records do not count as records of the program", () => {
  const cursor = new JournalCursor(
    [
      record(1),
      record(2, { kind: "warning", location: "~maxRunDuration" }),
      record(3, { kind: "operator", location: "~" }),
    ],
    false,
  );
  expect(cursor.hasHistory).toBe(true);
  cursor.advance();
  expect([cursor.hasHistory, cursor.done]).toEqual([false, false]);
  cursor.advance();
  cursor.advance();
  expect([cursor.hasHistory, cursor.done]).toEqual([false, true]);
});
