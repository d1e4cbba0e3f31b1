import type { Expression } from "../model/process.ts";
import { type Model, modelIn, textIn } from "./moddle.ts";

/** Text that is a condition or a value to compute, whatever it begins with. */
export function computed(text: string, language: string | null = null): Expression {
  return { text: text.startsWith("=") ? text.slice(1).trim() : text.trim(), language, isStatic: false };
}

/** Text that stands for itself, unless it says by `=` or `${` that it is to be computed. */
export function textOrComputed(text: string, language: string | null = null): Expression {
  const trimmed = text.trim();
  if (trimmed.startsWith("=") || trimmed.includes("${") || trimmed.includes("#{")) return computed(trimmed, language);
  return { text: trimmed, language, isStatic: true };
}

/** The expression that a member of a model holds; null if it has none. */
export function expressionIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : computed(body, textIn(held, "language"));
}

/** As `expressionIn`, of text that may stand for itself. */
export function valueIn(model: Model | null, name: string): Expression | null {
  const held = modelIn(model, name);
  const body = textIn(held, "body");
  return body === null || body.trim() === "" ? null : textOrComputed(body, textIn(held, "language"));
}
