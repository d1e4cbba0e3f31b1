import { evaluateText, parseFeel } from "./feel/feel.ts";
import { isJuel } from "./feel/juel.ts";
import { quoteExcerpt } from "./feel/scanner.ts";
import { unknownCalls } from "./feel/unknown-calls.ts";
import type { Variables } from "./machine/state.ts";
import type { Expression } from "./model/process.ts";

/** Evaluates an expression of a model. Must be pure. `now` is the time of the run, in epoch ms; it is the same in every replay. */
export type Evaluate = (expression: Expression, variables: Variables, now?: number) => unknown;

/** Evaluates FEEL, and JUEL in `${…}` where it means the same. */
export const evaluateExpression: Evaluate = (expression, variables, now) =>
  evaluateText(expression.text, variables, now === undefined ? {} : { world: { now } }).value;

/** `feel`, or a URI of FEEL such as `https://www.omg.org/spec/DMN/20191111/FEEL/`. */
const FEEL = /^(?:s-)?feel$|\/(?:s-)?feel\/?\d*\/?$/i;
/** Models that contain JUEL often name no language, or XPath, which is the default of the standard. */
const JUEL = /^u?juel$|^uel$|\/XPath$/i;
const NONE: ReadonlySet<string> = new Set();
const OTHER_OPERATORS = /==|&&|\|\||!(?!=)/;

/**
 * Returns why an expression can never be evaluated. Null if it may be. `names` are the variables of the model whose names are not
 * plain words; the parser must know them.
 */
export function flawOf({ text, language }: Expression, names: readonly string[]): string | null {
  const isOf = language === null || (isJuel(text) ? JUEL : FEEL).test(language);
  if (!isOf) return `expression ${quoteExcerpt(text)} is in ${language}, which is not supported; write it in FEEL`;
  try {
    const [unknown] = unknownCalls(parseFeel(text, names), NONE);
    if (unknown === undefined) return null;
    return `expression ${quoteExcerpt(text)} calls ${unknown}, which is not a function; correct the name`;
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}${isJuel(text) ? "" : hintFor(text)}`;
  }
}

/** The mistake that is most likely: operators of other languages, or a name of several words. */
function hintFor(text: string): string {
  const code = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  if (OTHER_OPERATORS.test(code)) return "; FEEL compares with = and !=, and connects with and, or and not(…)";
  return /[\p{L}\d_] +[\p{L}_]/u.test(code) ? "; write a name of several words in backticks" : "";
}
