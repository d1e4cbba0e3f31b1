import { evaluate as evaluateFeel } from "feelin";
import { PawlError } from "pawl";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Computes the value of an expression of a model. Pure: the same expression and variables give the same value. */
export type Evaluate = (expression: Expression, variables: Variables) => unknown;

const WHOLE = /^[$#]\{([^{}]*)\}$/;

/** FEEL, and what common models write as `${…}` where it means the same. */
export const evaluateExpression: Evaluate = ({ text }, variables) => {
  const juel = WHOLE.exec(text.trim())?.[1];
  if (juel === undefined && /[$#]\{/.test(text)) throw notUnderstood(text);
  const { value } = evaluateFeel(
    juel === undefined ? text : translated(juel, text),
    variables as Record<string, unknown>,
  );
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
};

/** Comparisons and logic are spelled differently; calls of methods have no counterpart. */
function translated(juel: string, text: string): string {
  if (/\w\s*\(|[?:]/.test(juel.replace(/'[^']*'|"[^"]*"/g, ""))) throw notUnderstood(text);
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
