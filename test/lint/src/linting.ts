import * as typescriptParser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import { type plugin, recommended } from "pawl/eslint";

const config: Linter.Config = { ...recommended, rules: { ...recommended.rules } };

export interface LintFinding {
  readonly line: number;
  readonly rule: string;
  readonly text: string;
}

export type Language = "js" | "ts";

/** The findings of all rules, or of one rule, in a text. */
export function lint(text: string, language: Language, rule?: keyof typeof plugin.rules): readonly LintFinding[] {
  const rules: Linter.RulesRecord = rule === undefined ? { ...recommended.rules } : { [`pawl/${rule}`]: "error" };
  const parser = language === "ts" ? { languageOptions: { parser: typescriptParser } } : {};
  const messages = new Linter().verify(text, [{ ...config, ...parser, files: ["**/*.js", "**/*.ts"], rules }], {
    filename: `case.${language}`,
  });
  return messages.map(({ line, ruleId, message }) => ({ line, rule: ruleId ?? "", text: message }));
}
