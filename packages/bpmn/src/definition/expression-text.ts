import { computed, type Expression, textOrComputed } from "../model/process.ts";
import { type Model, modelIn, textIn } from "./moddle.ts";

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
