import { checkFeel, evaluateFeel } from "./feel/feel.ts";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Computes the value of an expression of a model. Pure: the same expression and variables give the same value. */
export type Evaluate = (expression: Expression, variables: Variables) => unknown;

/** FEEL, and what common models write as `${…}` where it means the same. */
export const evaluateExpression: Evaluate = (expression, variables) => evaluateFeel(expression.text, variables).value;

/** Why an expression can't be read; null: it can. */
export function flawOf(expression: Expression): string | null {
  try {
    checkFeel(expression.text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
