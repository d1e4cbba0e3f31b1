import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DURATION_MS_MAX, durationText, parseDuration } from "./duration.ts";
import { PawlError } from "./errors.ts";
import { textOf } from "./payload-values.ts";

const DAY_MS = 86_400_000;

describe("parseDuration", () => {
  test.each<[unknown, number]>([
    [0, 0],
    [-0, 0],
    [1, 1],
    [1e-9, 1],
    [1.5, 2],
    [2 ** 31, 2 ** 31],
    [DURATION_MS_MAX, DURATION_MS_MAX],
    ["0s", 0],
    ["250ms", 250],
    ["90s", 90_000],
    ["10 minutes", 600_000],
    ["1 minute", 60_000],
    ["1h 30m", 5_400_000],
    ["1h30m", 5_400_000],
    ["1 hour 30 minutes", 5_400_000],
    ["2 days", 2 * DAY_MS],
    ["1 week", 7 * DAY_MS],
    ["1w 2d 3h 4m 5s 6ms", 9 * DAY_MS + 3 * 3_600_000 + 4 * 60_000 + 5_006],
    ["2 Days", 2 * DAY_MS],
    ["5 SEC", 5_000],
    ["5M", 300_000],
    ["  3 hrs  ", 10_800_000],
    ["1.1h", 3_960_000],
    ["0.1s", 100],
    ["1.0005s", 1_001],
    ["0.000000001ms", 1],
    ["1.5 days", 1.5 * DAY_MS],
    ["1\u00a0h", 3_600_000],
    ["PT10S", 10_000],
    ["P1DT12H", 1.5 * DAY_MS],
    ["PT0.5S", 500],
    ["PT0,5S", 500],
    ["P2W", 14 * DAY_MS],
    ["PT1H30M", 5_400_000],
    ["PT36H", 36 * 3_600_000],
    ["P0D", 0],
    ["PT1M", 60_000],
    ["pt1m", 60_000],
    ["P1W2D", 9 * DAY_MS],
    ["36525 days", DURATION_MS_MAX],
  ])("%j is %d ms", (value, ms) => {
    expect(parseDuration(value, "timeout")).toBe(ms);
  });

  const none: readonly (readonly [unknown, string])[] = [
    [Number.NaN, "0 or more"],
    [-1, "0 or more"],
    [-5e-324, "0 or more"],
    [-0.5, "0 or more"],
    [Number.POSITIVE_INFINITY, "100 years"],
    [Number.NEGATIVE_INFINITY, "0 or more"],
    [2 ** 53, "100 years"],
    [DURATION_MS_MAX + 0.5, "100 years"],
    ["36526 days", "100 years"],
    [`${"9".repeat(90)}d`, "100 years"],
    ["", "empty"],
    [" ", "numbers with units"],
    ["5", "numbers with units"],
    ["1d x", "numbers with units"],
    ["1d, 2h", "numbers with units"],
    ["-1s", "numbers with units"],
    ["+1s", "numbers with units"],
    ["1e3s", "unit e"],
    ["1. s", "numbers with units"],
    [".5s", "numbers with units"],
    ["1,5s", "numbers with units"],
    ["0.0000000001s", "numbers with units"],
    ["NaN", "numbers with units"],
    ["Infinity", "numbers with units"],
    ["1 fortnight", "unit fortnight"],
    ["1h 1h", "units must be in descending order"],
    ["30m 1h", "units must be in descending order"],
    ["1 month", "vary in length"],
    ["2 years", "vary in length"],
    ["1y", "vary in length"],
    ["P1Y", "vary in length"],
    ["P1M", "vary in length"],
    ["P1Y2M3DT4H", "vary in length"],
    ["P", "ISO 8601"],
    ["PT", "ISO 8601"],
    ["P1DT", "ISO 8601"],
    ["P1", "ISO 8601"],
    ["P1H", "ISO 8601"],
    ["PT1D", "ISO 8601"],
    ["P-1D", "ISO 8601"],
    ["-P1D", "numbers with units"],
    ["P1D 2h", "ISO 8601"],
    ["١s", "numbers with units"],
    ["1s".repeat(1_000), "pass ms"],
    [null, "pass ms"],
    [undefined, "pass ms"],
    [{}, "pass ms"],
    [[5], "pass ms"],
    [5n, "pass ms"],
    [new Date(0), "pass ms"],
    [true, "pass ms"],
    [Symbol("s"), "pass ms"],
  ];

  test.each(none.map(([value, reason]) => [textOf(value), value, reason] as const))(
    "%s is none",
    (_, value, reason) => {
      expect(() => parseDuration(value, "timeout of step charge")).toThrow(
        expect.objectContaining({
          code: "DURATION_INVALID",
          message: expect.stringMatching(
            new RegExp(`^timeout of step charge must be a duration: .*${reason}.*; got `, "s"),
          ),
        }),
      );
    },
  );

  test("the error about an invalid duration contains its name and value", () => {
    expect(() => parseDuration("1 fortnight", "timeout of step charge")).toThrow(
      'timeout of step charge must be a duration: unknown unit fortnight; use ms, s, m, h, d or w; got "1 fortnight"',
    );
    expect(() => parseDuration(null, "sleep")).toThrow(/^sleep must be a duration: pass ms.*; got null$/);
  });

  test("any value is parsed to an integer number of ms in range, or gets the typed error", () => {
    const texts = fc.string({
      unit: fc.constantFrom("1", "0", ".", ",", " ", "d", "h", "m", "s", "P", "T", "W", "-", "e"),
    });
    fc.assert(
      fc.property(fc.oneof(texts, fc.string(), fc.double(), fc.anything()), (value) => {
        try {
          const ms = parseDuration(value, "it");
          expect(Number.isInteger(ms) && ms >= 0 && ms <= DURATION_MS_MAX && !Object.is(ms, -0)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(PawlError);
          expect(error).toMatchObject({ code: "DURATION_INVALID" });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("a parsed duration is never shorter than the requested one", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: DURATION_MS_MAX, noNaN: true }), (ms) => {
        const whole = parseDuration(ms, "it");
        expect(whole).toBeGreaterThanOrEqual(ms);
        expect(whole - ms).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe("durationText", () => {
  test.each([
    [0, "0 ms"],
    [250, "250 ms"],
    [999, "999 ms"],
    [1_000, "1 s"],
    [1_500, "1.5 s"],
    [59_999, "59.9 s"],
    [60_000, "1 min"],
    [90_000, "1 min 30 s"],
    [3_599_999, "59 min 59 s"],
    [3_600_000, "1 h"],
    [2 * DAY_MS + 3 * 3_600_000 + 59_000, "2 d 3 h"],
    [DAY_MS + 5 * 60_000, "1 d"],
    [400 * DAY_MS, "400 d"],
  ])("%d ms is %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test("a formatted duration parses to at most the original and at least 95 % of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (ms) => {
        const again = parseDuration(durationText(ms), "it");
        expect(again).toBeLessThanOrEqual(ms);
        expect(again).toBeGreaterThanOrEqual(ms * 0.95);
      }),
    );
  });
});
