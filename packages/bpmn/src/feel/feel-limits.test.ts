import { describe, expect, test } from "vitest";
import { evaluateFeel } from "./feel.ts";

const codeOf = (text: string, variables: Record<string, unknown> = {}): string => {
  try {
    evaluateFeel(text, variables);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "evaluated";
};

describe("limits of expressions", () => {
  test.each([
    ["a loop over a billion numbers", "for i in 1..1000000000 return i"],
    ["a nested loop over ranges", "for i in 1..10000, j in 1..10000 return i * j"],
    ["a quantifier over a billion numbers", "every i in 1..1000000000 satisfies i > 0"],
    ["an endless recursion", "{f: function(x) g(x), g: function(x) f(x)}.f(1) + (for i in 1..2000000 return 1)[1]"],
    [
      "repeated doubling of a text",
      'for i in 1..60 return if i = 1 then "xxxxxxxxxxxxxxxx" else partial[-1] + partial[-1]',
    ],
    [
      "repeated doubling of a list",
      "for i in 1..60 return if i = 1 then [1] else concatenate(partial[-1], partial[-1])",
    ],
    [
      "a join of many texts",
      'string join(for i in 1..100000 return "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")',
    ],
    ["a sum of 20,000 terms", Array.from({ length: 20_000 }, () => "1").join("+")],
    ["10,000 nested parentheses", `${"(".repeat(10_000)}1${")".repeat(10_000)}`],
    ["10,000 nested lists", `${"[".repeat(10_000)}1${"]".repeat(10_000)}`],
    ["a text of 200,000 characters", `"${"x".repeat(200_000)}"`],
  ])("%s exceeds a limit of the expression", (_, text) => {
    expect(codeOf(text)).toBe("EXPRESSION_LIMIT");
  });

  test("a function that calls itself endlessly exceeds the limit", () => {
    const fix = "{y: function(f, n) f(f, n), loop: function(f, n) f(f, n + 1), r: y(loop, 0)}.r";
    expect(codeOf(fix)).toBe("EXPRESSION_LIMIT");
  });

  test("a smaller budget of steps is enforced", () => {
    const budget = { stepsMax: 100 };
    expect(() => evaluateFeel("for i in 1..1000 return i", {}, { budget })).toThrow("more than 100 steps");
    expect(evaluateFeel("for i in 1..10 return i", {}, { budget }).value).toHaveLength(10);
  });

  test("a cyclic value exceeds the depth limit", () => {
    const round: Record<string, unknown> = {};
    round.self = round;
    expect(codeOf("a", { a: round })).toBe("EXPRESSION_LIMIT");
  });
});

describe("regular expressions", () => {
  /** Patterns that take exponential time in plain backtracking engines. */
  const PATTERNS = [
    ...[
      "^(a+)+$",
      "(a*)*b",
      "(a|aa)+$",
      "(a|a?)+$",
      "([a-zA-Z]+)*$",
      "(.*a){20}$",
      "^(([a-z])+.)+[A-Z]([a-z])+$",
      "(x+x+)+y",
    ],
    ...[
      "^(\\w+\\s?)*$",
      "(\\d+)*\\d+x",
      "((a{0,5}){0,5}){0,5}b",
      "(a?){30}a{30}b",
      "^(a|b|ab)*c",
      "(.+)+!",
      "(\\s*)*!",
    ],
  ];
  const TEXTS = [
    "a".repeat(40),
    `${"a".repeat(40)}!`,
    `${"ab".repeat(30)}`,
    "x".repeat(50),
    " ".repeat(60),
    "1".repeat(45),
    "aaaa bbbb ".repeat(8),
  ];

  test("the time of a regular expression is bounded by pattern length times text length", () => {
    const steps = 300_000;
    for (const pattern of PATTERNS) {
      for (const text of TEXTS) {
        const { value } = evaluateFeel("matches(text, pattern)", { text, pattern }, { budget: { stepsMax: steps } });
        expect(typeof value, `${pattern} on ${text}`).toBe("boolean");
      }
    }
  });

  test("the steps of a regular expression with back references are limited", () => {
    expect(codeOf("matches(text, pattern)", { text: "a".repeat(60), pattern: "(a*)*(a*)*(a*)*\\1b" })).toBe(
      "EXPRESSION_LIMIT",
    );
  });

  test.each<[string, unknown]>([
    ['matches("abracadabra", "bra")', true],
    ['matches("abracadabra", "^a.*a$")', true],
    ['matches("abracadabra", "^bra")', false],
    ['matches("HELLO", "hello", "i")', true],
    ['matches("a\\nb", "a.b")', false],
    ['matches("a\\nb", "a.b", "s")', true],
    ['matches("a\\nb", "^b$", "m")', true],
    ['matches("helloworld", "hello world", "x")', true],
    ['matches("a.b", "a.b", "q")', true],
    ['matches("axb", "a.b", "q")', false],
    ['matches("abc", "[a-z-[aeiou]]{2}$")', true],
    ['matches("ü", "\\\\p{L}")', true],
    ['matches("1", "\\\\P{L}")', true],
    ['matches("aa", "(a)\\\\1")', true],
    ['matches("a", "(?=a)")', null],
    ['matches("a", "[")', null],
    ['matches("a", "a", "z")', null],
    ['matches("a", "\\\\2")', null],
    ['replace("abracadabra", "a.*?a", "*")', "*c*bra"],
    ['replace("abracadabra", "a(.)", "a$1$1")', "abbraccaddabbra"],
    ['replace("AAAA", "A+", "b")', "b"],
    ['replace("darted", "^(.*?)d(.*)$", "$1c$2")', "carted"],
    ['replace("abc", "x*", "-")', null],
    ['replace("abc", "b", "\\\\$")', "a$c"],
    ['replace("abc", "b", "$")', null],
    ['split("a;b;;c", ";")', ["a", "b", "", "c"]],
    ['extract("a1b22", "[0-9]+")', ["1", "22"]],
  ])("%s", (text, expected) => {
    expect(evaluateFeel(text, {}).value).toEqual(expected);
  });
});

describe("data", () => {
  test.each([
    "a.constructor",
    "a.__proto__",
    "a.toString",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    'get value(a, "constructor")',
    'get value(a, "__proto__")',
  ])("%s does not reach an inherited property", (text) => {
    expect(evaluateFeel(text, { a: { b: [1] } }).value).toBeNull();
  });

  test("a variable may have the name of an inherited property", () => {
    expect(evaluateFeel("{constructor: 1, toString: constructor + 1}.toString", {}).value).toBe(2);
    expect(evaluateFeel("__proto__.x", JSON.parse('{"__proto__": {"x": 5}}')).value).toBe(5);
  });

  test("data that looks like an expression stays text", () => {
    expect(evaluateFeel("a", { a: "1 + 1" }).value).toBe("1 + 1");
    expect(evaluateFeel('"{a}" + a', { a: "now()" }).value).toBe("{a}now()");
  });

  test("data that looks like an internal date is a context", () => {
    expect(evaluateFeel("a instance of date", { a: { kind: "date", year: 1, month: 1, day: 1 } }).value).toBe(false);
  });

  test("a value that JSON does not have is null", () => {
    expect(
      evaluateFeel("[a, b, c, d]", { a: Number.NaN, b: undefined, c: () => 1, d: Number.POSITIVE_INFINITY }).value,
    ).toEqual([null, null, null, null]);
  });

  test("an unknown variable is null, with a warning", () => {
    expect(evaluateFeel("missing", {})).toEqual({ value: null, warnings: ["variable missing not found"] });
  });
});

describe("syntax errors", () => {
  test.each([
    "",
    "1 +",
    "(1",
    "[1",
    "{a 1}",
    "if true then 1",
    "for x return 1",
    "1 2",
    "a..b",
    '@"nonsense"',
    "function(x",
    "x instance of",
    '"open',
    "$",
    "1 = = 2",
  ])("%j is rejected as an expression", (text) => {
    expect(codeOf(text)).toBe("EXPRESSION_INVALID");
  });
});
