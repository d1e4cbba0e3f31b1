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

test("titles of describe, other calls and other files are no findings", () => {
  expect(findings('describe("what is read", () => {}); call("of a run");')).toEqual([]);
  expect(findings('it("what is read", () => {});', "packages/core/src/rules/made-up.ts")).toEqual([]);
});
