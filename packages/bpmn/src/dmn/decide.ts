import { guardArguments, kinds, PawlError, readArgument, readOptions } from "pawl";
import { callFunction } from "../feel/call.ts";
import { Evaluation, FEEL_BUDGET } from "../feel/evaluation.ts";
import { FEEL_OPTIONS, type FeelOptions, type FeelResult, VARIABLES } from "../feel/feel.ts";
import { fromJson, toJson } from "../feel/json.ts";
import { entryOf, type FeelContext, type FeelValue, isContext, isKind } from "../feel/value.ts";
import type { DecisionModel, DecisionModelElement } from "./decision-model.ts";
import { DecisionRun } from "./decision-run.ts";
import { itemTypes } from "./item-types.ts";

/** A model that `readDecisions` has returned. */
export const MODEL = {
  ...kinds.value,
  allowed: "a model that readDecisions returned",
  fits: (value: unknown) => (value as Partial<DecisionModel> | null | undefined)?.elements instanceof Map,
};

/** Evaluates a decision, decision service or business knowledge model by name or id. `inputs` is JSON, by input name. */
export function decide(
  model: DecisionModel,
  name: string,
  inputs: Readonly<Record<string, unknown>>,
  options?: FeelOptions,
): FeelResult {
  readArgument(MODEL, model, "model");
  readArgument(kinds.text, name, "name");
  readArgument(VARIABLES, inputs, "inputs");
  const checked = readOptions(FEEL_OPTIONS, options);
  return guardArguments("inputs", () => {
    const { value, warnings } = decideWith(model, name, inputs, checked);
    return { value, warnings };
  });
}

export interface DecisionResult extends FeelResult {
  /** The names that neither the model nor the inputs have. */
  readonly unresolved: readonly string[];
}

export function decideWith(
  model: DecisionModel,
  name: string,
  inputs: Readonly<Record<string, unknown>>,
  options: FeelOptions,
): DecisionResult {
  const given = fromJson(inputs);
  const run = new Evaluation({
    budget: { ...FEEL_BUDGET, ...options.budget },
    world: options.world ?? {},
    types: itemTypes(model),
  });
  const value = decideValue(model, name, isContext(given) ? given : {}, run);
  return { value: toJson(value), warnings: run.warnings, unresolved: run.unresolved };
}

/** `decide` with FEEL values. */
function decideValue(model: DecisionModel, name: string, inputs: FeelContext, run: Evaluation): FeelValue {
  const element = elementNamed(model, name);
  const value = new DecisionRun(model, inputs, run, new Map()).value(element.key);
  if (!isKind(value, "function") || element.kind === "decision") return value;
  const args = value.parameters.map((parameter) => entryOf(inputs, parameter.name) ?? null);
  return callFunction(value, { kind: "positional", values: args }, run);
}

/** Elements of the first model take precedence over imported ones. */
function elementNamed(model: DecisionModel, name: string): DecisionModelElement {
  const all = [...model.elements.values()].filter(({ kind }) => kind !== "input");
  const own = all.filter(({ namespace }) => namespace === model.namespace);
  const found = [...own, ...all].find((element) => element.name === name || element.id === name);
  if (found !== undefined) return found;
  const names = own.map((element) => element.name).join(", ");
  throw new PawlError("DECISION_NOT_FOUND", `model ${model.name} has no decision ${name}; it has ${names}`);
}
