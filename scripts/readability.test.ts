import { expect, test } from "vitest";
import { titleFindings } from "./readability.mjs";
import { printed } from "./sources.mjs";

function findings(text: string, path = "packages/core/src/rules/made-up.test.ts"): readonly string[] {
  return titleFindings([{ path, text }]).map(printed);
}

test("a test title that begins with a relative word is a finding", () => {
  const text =
    'it("a run ends", () => {});\ntest.each([1])(`what %s does`, () => {});\nit.skip("With a lease", () => {});';
  expect(findings(text)).toEqual([
    "packages/core/src/rules/made-up.test.ts:2 test title begins with a relative word: what %s does",
    "packages/core/src/rules/made-up.test.ts:3 test title begins with a relative word: With a lease",
  ]);
});

test("a contract case or a shared test whose title begins with a relative word is a finding", () => {
  const cases = "packages/core/src/testing/store-contract/made-up-cases.ts";
  const text =
    'const c = [{ name: "a run ends", run: f }, { name: "of two runs one ends", async run() {} }, { name: "of" }];';
  expect(findings(text, cases)).toEqual([`${cases}:1 test title begins with a relative word: of two runs one ends`]);
  expect(findings('it("what is read", () => {});', "packages/core/src/testing/made-up.ts")).toEqual([
    "packages/core/src/testing/made-up.ts:1 test title begins with a relative word: what is read",
  ]);
});

test("titles of describe, names outside contract cases and other calls are no findings", () => {
  expect(findings('describe("what is read", () => {}); call("of a run");')).toEqual([]);
  expect(findings('const c = [{ name: "of a run", run: f }];', "packages/core/src/rules/made-up.ts")).toEqual([]);
});
