import { plugin } from "pawl/eslint";
import { describe, expect, it } from "vitest";
import { type BadCase, type CasesByRule, textOf } from "./cases.ts";
import { awaitCases, noCtxInStepCases, ownCtxCases, uniqueNamesCases } from "./ctx-cases.ts";
import { clockCases, effectCases, randomCases, timerCases } from "./determinism-cases.ts";
import { lint } from "./linting.ts";

const CASES: CasesByRule = {
  "await-ctx": awaitCases,
  "no-clock": clockCases,
  "no-ctx-in-step": noCtxInStepCases,
  "no-effects": effectCases,
  "no-random": randomCases,
  "no-timers": timerCases,
  "own-ctx": ownCtxCases,
  "unique-names": uniqueNamesCases,
};

const languages = ({ language }: BadCase): readonly ("js" | "ts")[] => (language === "ts" ? ["ts"] : ["js", "ts"]);

describe.each(Object.keys(plugin.rules) as (keyof CasesByRule)[])("the rule %s", (rule) => {
  const { good, bad } = CASES[rule];

  it(`${rule} has at least eight good and eight bad cases`, () => {
    expect(good.length).toBeGreaterThanOrEqual(8);
    expect(bad.length).toBeGreaterThanOrEqual(8);
    expect(new Set([...good, ...bad].map(textOf)).size).toBe(good.length + bad.length);
  });

  it.each(good.map((each) => [textOf(each), each] as const))(`${rule} finds nothing in\n%s`, (text, each) => {
    for (const language of languages(each)) expect(lint(text, language, rule)).toEqual([]);
  });

  it.each(bad.map((each) => [textOf(each), each] as const))(`${rule} finds the fault in\n%s`, (text, each) => {
    for (const language of languages(each)) {
      const findings = lint(text, language, rule);
      expect(findings.map((finding) => finding.rule)).toEqual(Array(each.findings ?? 1).fill(`pawl/${rule}`));
    }
  });
});
