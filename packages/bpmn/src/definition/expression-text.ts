import type { Expression } from "../model/process.ts";
import { type Model, modelIn, textIn } from "./moddle.ts";

/** An expression that is always evaluated. */
export function computed(text: string, language: string | null = null): Expression {
  return { text: text.startsWith("=") ? text.slice(1).trim() : text.trim(), language, isStatic: false };
}

/** An expression that is evaluated if it starts with `=` or contains `${`. Otherwise the text is the value. */
export function textOrComputed(text: string, language: string | null = null): Expression {
  const trimmed = text.trim();
  if (trimmed.startsWith("=") || trimmed.includes("${") || trimmed.includes("#{")) return computed(trimmed, language);
  return { text: trimmed, language, isStatic: true };
}

/** The expression in a property of a model. Null if it has none. */
export function expressionIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : computed(body, textIn(held, "language"));
}

/** Like `expressionIn`, but plain text is the value. */
export function valueIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : textOrComputed(body, textIn(held, "language"));
}
