import { expect, test } from "vitest";
import { textOrComputed } from "../model/process.ts";
import { checkFeel, evaluateFeel } from "./feel.ts";

/** Wraps a body in JUEL braces. */
const juel = (body: string): string => ["$", "{", body, "}"].join("");
const variables = {
  amount: 150,
  status: "open",
  items: ["a", "b"],
  order: { total: 7, tags: [] },
  none: null,
  due: "2026-01-18",
};

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
  ["status.equals('open') && !status.isEmpty()", true],
  ["status.toUpperCase().concat('!')", "OPEN!"],
  ["status.substring(1, 3).length()", 2],
  ["status.equalsIgnoreCase('OPEN')", true],
  ["items.size() > 1 && items.contains('b')", true],
  ["items.get(1).startsWith('b')", true],
  ["order.get('total') + 1", 8],
  ["order.containsKey('none')", false],
  ["execution.getVariable('amount') * 2", 300],
  ["execution.hasVariable('missing') ? 1 : 2", 2],
  ["missing.length() == null", true],
  ["due.plusWeeks(2).minusDays(1)", "2026-01-31"],
  ["due.plusMonths(1).toString()", "2026-02-18"],
  ["due.plusDays('x')", null],
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
  "status.getBytes()",
  "status.equals()",
  "status.constructor('x')",
  "getVariable('a')",
  "order.execution.getVariable('a')",
  "plusWeeks(1)",
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

test("the error of an unknown JUEL call lists the calls that are supported", () => {
  expect(() => checkFeel(juel("bean.price(order)"))).toThrow(
    /bean\.price\(\) is not one of dateTime\(\) .*execution\.getVariable\(\).* \.plusWeeks\(\)/,
  );
});

test("dateTime is the time that the caller passes, and null without one", () => {
  const world = { now: Date.UTC(2026, 0, 1, 12) };
  expect(evaluateFeel(juel("dateTime().plusWeeks(1).toDate()"), {}, { world }).value).toBe("2026-01-08T12:00:00Z");
  expect(evaluateFeel(juel("dateTime()"), {}).warnings).toEqual(["the current time is not known here"]);
});

test.each([
  [`order-${juel("id")}`, "order-7"],
  [`${juel("id")}/${juel("name")}`, "7/it's"],
  [`a 'quoted' \\ ${juel("name.length()")} {x}`, "a 'quoted' \\ 4 {x}"],
  [`${juel("missing")}!`, "!"],
  [`${juel("empty name ? '}' : 'no {'")}.`, "no {."],
])("text with expressions inside is one text: %s", (text, expected) => {
  const { text: expression, isStatic } = textOrComputed(text);
  expect([isStatic, evaluateFeel(expression, { id: 7, name: "it's" }).value]).toEqual([false, expected]);
});
