import { evaluate } from "../feel/evaluate.ts";
import { childScope, type Evaluation, type Scope } from "../feel/evaluation.ts";
import { coerced } from "../feel/feel-types.ts";
import {
  contextOf,
  entryOf,
  type FeelContext,
  type FeelFunction,
  type FeelType,
  type FeelValue,
  isContext,
  KIND,
} from "../feel/value.ts";
import type {
  DecisionElement,
  DecisionModel,
  ElementKey,
  InputElement,
  KnowledgeElement,
  Requirement,
  ServiceElement,
} from "./decision-model.ts";
import { inputOf } from "./item-types.ts";

const IMPORT_DEPTH_MAX = 3;

/** Evaluates a decision graph. Each element is evaluated once, when it is first needed. */
export class DecisionRun {
  readonly #model: DecisionModel;
  readonly #inputs: FeelContext;
  readonly #run: Evaluation;
  readonly #known: Map<ElementKey, FeelValue>;

  constructor(model: DecisionModel, inputs: FeelContext, run: Evaluation, known: ReadonlyMap<ElementKey, FeelValue>) {
    this.#model = model;
    this.#inputs = inputs;
    this.#run = run;
    this.#known = new Map(known);
  }

  /** Returns the value of an input or decision, or the function of a knowledge model or service. */
  value(key: ElementKey, importName: string | null = null): FeelValue {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#run.enter();
    const value = this.#made(key, importName);
    this.#run.leave();
    this.#known.set(key, value);
    return value;
  }

  #made(key: ElementKey, importName: string | null): FeelValue {
    const element = this.#model.elements.get(key);
    switch (element?.kind) {
      case undefined:
        return this.#run.warn(`element ${key} not found`);
      case "input":
        return this.#input(element, importName);
      case "decision":
        return this.#decision(element);
      case "knowledge":
        return this.#knowledge(element);
      case "service":
        return this.service(element);
    }
  }

  /** Inputs of imported models may be passed by their name, or under the import's name. */
  #input(element: InputElement, importName: string | null): FeelValue {
    const given =
      importName === null ? entryOf(this.#inputs, element.name) : imported(this.#inputs, importName, element.name);
    if (given === undefined) return this.#run.warn(`input ${element.name} is missing`);
    return this.#fitted(inputOf(given, element.type, this.#model.items), element.type, `input ${element.name}`);
  }

  #decision(element: DecisionElement): FeelValue {
    if (element.logic === null) return this.#run.warn(`decision ${element.name} has no logic`);
    const value = evaluate(element.logic, this.#scope(element.needs), this.#run);
    return this.#fitted(value, element.type, `decision ${element.name}`);
  }

  #fitted(value: FeelValue, type: FeelType | null, name: string): FeelValue {
    if (type === null) return value;
    const fitted = coerced(value, type, this.#run.types);
    return fitted === null && value !== null ? this.#run.warn(`${name} does not have its declared type`) : fitted;
  }

  #scope(needs: readonly Requirement[]): Scope {
    const frame: Record<string, FeelValue> = Object.create(null);
    for (const { key, importName } of needs) {
      const element = this.#model.elements.get(key);
      if (element === undefined) continue;
      const value = this.value(key, importName);
      if (importName === null || importName === "") frame[element.name] = value;
      else {
        const others = frame[importName] ?? null;
        frame[importName] = contextOf([...Object.entries(isContext(others) ? others : {}), [element.name, value]]);
      }
    }
    // Modelers write tables without input data, so any other name is a variable of the caller.
    return childScope(childScope(null, this.#inputs), frame);
  }

  /** Its requirements are evaluated when it is called, because a knowledge model may call itself. */
  #knowledge({ name, needs, parameters, body, type }: KnowledgeElement): FeelFunction {
    const call = (args: readonly FeelValue[]): FeelValue => {
      if (body === null) return this.#run.warn(`${name} has no supported logic`);
      const frame = contextOf(parameters.map((parameter, i) => [parameter.name, args[i] ?? null]));
      const value = evaluate(body, childScope(this.#scope(needs), frame), this.#run);
      return this.#fitted(value, type, `result of ${name}`);
    };
    return { [KIND]: "function", parameters, result: type, call };
  }

  /** A decision service is a function of its input data and input decisions. */
  service({ name, outputs, inputDecisions, inputData, type }: ServiceElement): FeelFunction {
    const inputs = [...inputData, ...inputDecisions].flatMap(({ key }) => {
      const element = this.#model.elements.get(key);
      return element === undefined ? [] : [element];
    });
    const call = (args: readonly FeelValue[]): FeelValue => {
      const known = new Map(inputs.map((element, i) => [element.key, args[i] ?? null]));
      const inner = new DecisionRun(this.#model, {}, this.#run, known);
      const results = outputs.map(({ key }) => [this.#model.elements.get(key)?.name ?? key, inner.value(key)] as const);
      const value = results.length === 1 ? (results[0]?.[1] ?? null) : contextOf(results);
      return this.#fitted(value, type, `result of ${name}`);
    };
    const parameters = inputs.map((element) => ({ name: element.name, type: element.type }));
    return { [KIND]: "function", parameters, result: type, call };
  }
}

/**
 * Finds an input of an imported model: first under the import's name, up to IMPORT_DEPTH_MAX levels deep, then by its qualified
 * name, then by its own name.
 */
function imported(inputs: FeelContext, importName: string, name: string, depth = 0): FeelValue | undefined {
  const own = entryOf(inputs, importName) ?? null;
  const found = isContext(own) ? entryOf(own, name) : undefined;
  if (found !== undefined || depth > IMPORT_DEPTH_MAX) return found;
  for (const inner of Object.values(inputs)) {
    const deeper = isContext(inner) ? imported(inner, importName, name, depth + 1) : undefined;
    if (deeper !== undefined) return deeper;
  }
  return depth > 0 ? undefined : (entryOf(inputs, `${importName}.${name}`) ?? entryOf(inputs, name));
}
