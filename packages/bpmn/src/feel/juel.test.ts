import { expect, test } from "vitest";
import { checkFeel, evaluateFeel } from "./feel.ts";

/** Wraps a body in JUEL braces. */
const juel = (body: string): string => ["$", "{", body, "}"].join("");
const variables = { amount: 150, status: "open", items: ["a", "b"], order: { total: 7, tags: [] }, none: null };

test.each<[string, unknown]>([
  ["amount > 100 && status == 'open'", true],
  ['amount gt 100 and status eq "shut"', false],
  ["!(amount <= 100) || false", true],
  ["order.total * 2 - 4 / 2", 12],
  ["items[1]", "b"],
  ["order['total']", 7],
  ["amount % 7 == 3", true],
  ["empty none", true],
  ["empty order.tags", true],
  ["not empty items", true],
  ["empty items ? 'no' : 'yes'", "yes"],
  ["-amount", -150],
  [" true ", true],
  ["missing == null", true],
  ["!missing", true],
  ["status != 5", true],
])("JUEL %s is evaluated", (text, expected) => {
  expect(evaluateFeel(juel(text), variables).value).toEqual(expected);
});

test.each([
  "order.getTotal()",
  "execution.setVariable('a', 1)",
  "bean.method}, #{other",
  "a = 1",
  "''.getClass().forName('java.lang.Runtime')",
  "T(java.lang.Runtime).getRuntime().exec('id')",
  "a; b",
  "",
  "a ==",
  `${"(".repeat(200)}1${")".repeat(200)}`,
])("JUEL %s is rejected", (text) => {
  expect(() => checkFeel(juel(text))).toThrowError(expect.objectContaining({ code: "EXPRESSION_INVALID" }));
});

test("JUEL may start with #{, and text around it is rejected", () => {
  expect(evaluateFeel("#{1 + 1}", {}).value).toBe(2);
  expect(() => checkFeel(`hello ${juel("name")}`)).toThrowError(
    expect.objectContaining({ code: "EXPRESSION_INVALID" }),
  );
});
