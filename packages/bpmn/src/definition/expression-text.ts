import { computed, type Expression, textOrComputed } from "../model/process.ts";
import { type Model, modelIn, textIn } from "./moddle.ts";

/** The expression in a property of a model. Null if it has none. */
export function expressionIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : computed(body, languageOf(held, body));
}

/** Like `expressionIn`, but plain text is the value. */
export function valueIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : textOrComputed(body, languageOf(held, body));
}

/**
 * The language of an expression: its own, otherwise that of the document. Many modelers declare XPath for a document, the
 * standard's default, and write other expressions, so XPath counts as none. So does the document's language if the text marks its
 * own: `=` for FEEL, braces for JUEL.
 */
function languageOf(expression: Model | null, body: string): string | null {
  const own = textIn(expression, "language");
  if (own !== null || /^\s*(?:=|[$#]\{)/.test(body)) return own;
  let root = expression;
  while (root?.$parent !== undefined) root = root.$parent;
  const language = textIn(root, "expressionLanguage");
  return language?.endsWith("/XPath") === true ? null : language;
}
