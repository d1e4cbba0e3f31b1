import { describe, expect, test } from "vitest";
import { evaluateFeel, testFeel } from "./feel.ts";

const value = (text: string, variables: Record<string, unknown> = {}): unknown => evaluateFeel(text, variables).value;

describe("expressions", () => {
  test.each<[string, unknown]>([
    ["1 + 2 * 3", 7],
    ["0.1 + 0.2", 0.3],
    ["-3 ** 2", 9],
    ["10 / 0", null],
    ['"a" + "b"', "ab"],
    ["1 + null", null],
    ['if 1 < 2 then "x" else "y"', "x"],
    ["for i in 1..3 return i * i", [1, 4, 9]],
    ["for i in [1,2], j in [3,4] return i * j", [3, 4, 6, 8]],
    ["some x in [1,2] satisfies x > 1", true],
    ["every x in [1,2] satisfies x > 1", false],
    ["5 in [1..5)", false],
    ["5 in (1..5]", true],
    ["5 in ]1..5[", false],
    ["5 in (<3, >4)", true],
    ["5 between 1 and 5", true],
    ["{a: 1, b: a + 1}.b", 2],
    ['{first name: "x"}.first name', "x"],
    ["[1,2,3][item > 1]", [2, 3]],
    ["[{a: 1}, {a: 2}][a = 2].a", [2]],
    ['string length("foo")', 3],
    ['substring(string: "foobar", start position: 3)', "obar"],
    ["(function(x, y) x + y)(1, 2)", 3],
    ['date("2020-02-29") + duration("P1Y")', "2021-02-28"],
    ['date and time("2020-01-01T24:00:00")', "2020-01-02T00:00:00"],
    ['@"PT1H" * 26', "P1DT2H"],
    ["1 instance of number", true],
    ["null and false", false],
    ["null or 1", null],
    ["not(true)", false],
    ['matches("abc", "^a.c$")', true],
    ['replace("abc", "(b)", "[$1]")', "a[b]c"],
    ["// c\n1 /* d */ + 1", 2],
  ])("%s", (text, expected) => {
    expect(value(text)).toEqual(expected);
  });
});

test("testFeel evaluates unary tests", () => {
  expect(testFeel("< 10", 5)).toBe(true);
  expect(testFeel("not(5)", 5)).toBe(false);
  expect(testFeel('"a", "b"', "b")).toBe(true);
  expect(testFeel("-", 1)).toBe(true);
});

test("variable names may contain spaces and minus signs", () => {
  expect(value("first name + x-y", { "first name": "a", "x-y": "b" })).toBe("ab");
});
