import { describe, expect, test } from "vitest";
import { firstDue, nextDue, parseTimer } from "./timer.ts";

/** The next due times after a moment, as ISO 8601. */
function times(text: string, after: string, count = 3): readonly (string | undefined)[] {
  const timer = parseTimer("cycle", text);
  if (timer === null) throw new Error(`${text} is not a cycle`);
  const found: string[] = [];
  let due = firstDue(timer, Date.parse(after));
  for (; due !== null && found.length < count; due = nextDue(timer, due))
    found.push(new Date(due.at).toISOString().slice(0, 19));
  return found;
}

describe("cron timers", () => {
  test.each<[string, string, readonly string[]]>([
    [
      "0 0 9 * * MON-FRI",
      "2026-01-02T09:00:00Z",
      ["2026-01-05T09:00:00", "2026-01-06T09:00:00", "2026-01-07T09:00:00"],
    ],
    ["*/20 * * * * ?", "2026-01-01T00:00:30Z", ["2026-01-01T00:00:40", "2026-01-01T00:01:00", "2026-01-01T00:01:20"]],
    [
      "0 30 8-10/2,22 * * *",
      "2026-01-01T08:30:00Z",
      ["2026-01-01T10:30:00", "2026-01-01T22:30:00", "2026-01-02T08:30:00"],
    ],
    [
      "0 5/25 0 1 JAN,jul *",
      "2026-01-01T00:30:00Z",
      ["2026-01-01T00:55:00", "2026-07-01T00:05:00", "2026-07-01T00:30:00"],
    ],
    ["0 0 0 L * *", "2026-01-31T00:00:00Z", ["2026-02-28T00:00:00", "2026-03-31T00:00:00", "2026-04-30T00:00:00"]],
    ["0 0 0 LW * *", "2026-01-15T00:00:00Z", ["2026-01-30T00:00:00", "2026-02-27T00:00:00", "2026-03-31T00:00:00"]],
    ["0 0 0 1W * *", "2026-01-15T00:00:00Z", ["2026-02-02T00:00:00", "2026-03-02T00:00:00", "2026-04-01T00:00:00"]],
    ["0 0 0 ? * 5L", "2026-01-15T00:00:00Z", ["2026-01-30T00:00:00", "2026-02-27T00:00:00", "2026-03-27T00:00:00"]],
    ["0 0 0 * * MON#2", "2026-01-15T00:00:00Z", ["2026-02-09T00:00:00", "2026-03-09T00:00:00", "2026-04-13T00:00:00"]],
    ["0 0 0 29 2 *", "2026-01-15T00:00:00Z", ["2028-02-29T00:00:00", "2032-02-29T00:00:00", "2036-02-29T00:00:00"]],
    ["0 0 0 13 * FRI", "2026-01-15T00:00:00Z", ["2026-02-13T00:00:00", "2026-03-13T00:00:00", "2026-11-13T00:00:00"]],
    ["@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00", "2026-01-11T00:00:00", "2026-01-18T00:00:00"]],
    ["0 0 0 * * 0,7", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00", "2026-01-11T00:00:00", "2026-01-18T00:00:00"]],
  ])("a cron timer is due at its times: %s", (text, after, expected) => {
    expect(times(text, after)).toEqual(expected);
  });

  test("a cron timer with a zone follows the clock of that zone", () => {
    const text = "TZ=Europe/Berlin 0 30 2 * * *";
    expect(times(text, "2026-03-27T12:00:00Z", 4)).toEqual([
      "2026-03-28T01:30:00",
      "2026-03-29T01:30:00", // The clock skips 02:30, so it is 03:30.
      "2026-03-30T00:30:00",
      "2026-03-31T00:30:00",
    ]);
    expect(times(text, "2026-10-24T12:00:00Z", 2)).toHaveLength(2);
    expect(times("CRON_TZ=America/New_York 0 0 9 * * *", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-01T14:00:00"]);
  });

  test("a time that the clock of a zone repeats is due once", () => {
    const days = times("TZ=Europe/Berlin 0 30 2 * * *", "2026-10-24T12:00:00Z", 2).map((time) => time?.slice(0, 10));
    expect(days).toEqual(["2026-10-25", "2026-10-26"]);
  });

  test("a cron timer whose day never comes is never due", () => {
    expect(times("0 0 0 31 2 *", "2026-01-01T00:00:00Z")).toEqual([]);
  });

  test.each([
    "* * * * *",
    "60 * * * * *",
    "0 0 24 * * *",
    "0 0 0 0 * *",
    "0 0 0 * 13 *",
    "0 0 0 * * 8",
    "0 0 0 * * FOO",
    "5-1 * * * * *",
    "*/0 * * * * *",
    "TZ=No/Where 0 0 0 * * *",
    "TZ=UTC",
    "0 0 0 32W * *",
    "0 0 0 * * 1#6",
    "",
  ])("text is not a cron timer: %s", (text) => {
    expect(parseTimer("cycle", text)).toBe(null);
  });
});

test("a cycle of ISO 8601 repeats as often as it states", () => {
  expect(times("R2/2026-01-01T00:00:00Z/P1M", "2026-01-01T00:00:00Z", 5)).toEqual([
    "2026-01-01T00:00:00",
    "2026-02-01T00:00:00",
  ]);
});
