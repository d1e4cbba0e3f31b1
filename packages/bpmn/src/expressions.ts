import { checkFeel, evaluateText } from "./feel/feel.ts";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Evaluates an expression of a model. Must be pure. */
export type Evaluate = (expression: Expression, variables: Variables) => unknown;

/** Evaluates FEEL, and JUEL in `${…}` where it means the same. */
export const evaluateExpression: Evaluate = (expression, variables) => evaluateText(expression.text, variables).value;

/**
 * Returns why an expression can never be evaluated. Null if it may be. FEEL names may contain spaces, so FEEL cannot be checked
 * without the variables; only text in braces is checked.
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
