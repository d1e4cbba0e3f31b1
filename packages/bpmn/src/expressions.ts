import { PawlError } from "pawl";
import { checkFeel, evaluateFeel } from "./feel/feel.ts";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Computes the value of an expression of a model. Pure: the same expression and variables give the same value. */
export type Evaluate = (expression: Expression, variables: Variables) => unknown;

const WHOLE = /^[$#]\{([^{}]*)\}$/;

/** FEEL, and what common models write as `${…}` where it means the same. */
export const evaluateExpression: Evaluate = (expression, variables) =>
  evaluateFeel(feelOf(expression), variables).value;

/** Why an expression can't be read; null: it can. */
export function flawOf(expression: Expression): string | null {
  try {
    checkFeel(feelOf(expression));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function feelOf({ text }: Expression): string {
  const juel = WHOLE.exec(text.trim())?.[1];
  if (juel !== undefined) return translated(juel, text);
  if (/[$#]\{/.test(text)) throw notUnderstood(text);
  return text;
}

/** Comparisons and logic are spelled differently; calls of methods and choices by `?` have no counterpart. */
function translated(juel: string, text: string): string {
  const bare = juel.replace(/'[^']*'|"[^"]*"/g, "");
  if (/\w\s*\(|[?:]/.test(bare)) throw notUnderstood(text);
  return juel
    .replace(/'([^']*)'/g, '"$1"')
    .replace(/&&/g, " and ")
    .replace(/\|\|/g, " or ")
    .replace(/==/g, "=")
    .replace(/!(?!=)\s*([\w.]+)/g, "not($1)");
}

function notUnderstood(text: string): PawlError {
  return new PawlError("EXPRESSION_INVALID", `${text} is not understood; write it in FEEL`);
}
