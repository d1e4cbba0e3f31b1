import { checkFeel, evaluateFeel } from "./feel/feel.ts";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Computes the value of an expression of a model. Pure: the same expression and variables give the same value. */
export type Evaluate = (expression: Expression, variables: Variables) => unknown;

/** FEEL, and what common models write as `${…}` where it means the same. */
export const evaluateExpression: Evaluate = (expression, variables) => evaluateFeel(expression.text, variables).value;

/**
 * Why an expression can never be computed; null: it may be. Whether a text is FEEL depends on the names of variables, which may
 * have spaces, so only what is written in braces is looked at.
 */
export function flawOf({ text }: Expression): string | null {
  if (!/[$#]\{/.test(text)) return null;
  try {
    checkFeel(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
