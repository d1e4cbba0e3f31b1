import { bindingOf } from "../model/pins.ts";
import type { Binding, Expression, Mapping, RetrySetting } from "../model/process.ts";
import { computed, textOrComputed } from "../model/process.ts";
import { parseTimer } from "../model/timer.ts";
import { type Model, modelIn, modelsIn, textIn } from "./moddle.ts";
import { connectorOf, parametersIn, type ReadParameters } from "./read-parameters.ts";

/**
 * Extensions of a model beyond the standard: elements of the namespaces `zeebe`, `camunda` and `pawl`, by their local names. A
 * document uses one of these namespaces.
 */
export interface Extensions {
  readonly inputs: readonly Mapping[];
  readonly outputs: readonly Mapping[];
  readonly handler: string | null;
  readonly decision: string | null;
  readonly resultVariable: string | null;
  readonly correlationKey: Expression | null;
  readonly called: Expression | null;
  readonly calledVersion: number | null;
  /** The version of what the element refers to: a process, a decision or a form. */
  readonly binding: Binding | null;
  /** Whether a call activity waits for the end of the called process. */
  readonly waits: boolean;
  readonly passes: "all" | "inputs";
  readonly returns: "all" | "outputs" | null;
  readonly script: { readonly text: string; readonly format: string | null } | null;
  readonly retry: RetrySetting | null;
  readonly loop: {
    readonly collection: Expression | null;
    readonly item: string | null;
    readonly output: { readonly variable: string; readonly element: Expression } | null;
  } | null;
  readonly activeElements: Expression | null;
  readonly properties: Readonly<Record<string, string>>;
  /** Parts of the extensions that are not executed. */
  readonly ignored: readonly string[];
  /** What is wrong with the connector. */
  readonly problems: readonly string[];
}

/** The supported extension namespaces, by URI. */
export const EXTENSION_NAMESPACES: Readonly<Record<string, string>> = {
  "http://camunda.org/schema/zeebe/1.0": "zeebe",
  "http://camunda.org/schema/1.0/bpmn": "camunda",
  "urn:pawl:bpmn": "pawl",
};

export const RETRY_DEFAULT: RetrySetting = {
  maxAttempts: 3,
  backoff: "exponential",
  initialMs: 1_000,
  maxMs: 60_000,
  jitter: 0.2,
};

export function extensionsOf(model: Model): Extensions {
  const all = modelsIn(modelIn(model, "extensionElements"), "values");
  const named = (name: string): Model | null => all.find((each) => localName(each.$type) === name) ?? null;
  const attribute = (name: string): string | null => foreignAttribute(model, name);
  const task = named("taskDefinition");
  const called = named("calledElement");
  const decision = named("calledDecision");
  const script = named("script");
  const mappings = mappingsOf(all);
  const held = named("connector");
  const connector = held === null ? null : connectorOf(held);
  return {
    inputs: [...mappings.inputs, ...(connector?.inputs ?? [])],
    outputs: [...(connector?.outputs ?? []), ...mappings.outputs],
    ignored: mappings.ignored,
    problems: connector?.problems ?? [],
    handler:
      textIn(task, "type") ??
      attribute("handler") ??
      attribute("topic") ??
      delegateOf(attribute) ??
      connector?.handler ??
      null,
    decision: textIn(decision, "decisionId") ?? attribute("decisionRef"),
    resultVariable:
      textIn(decision, "resultVariable") ?? textIn(script, "resultVariable") ?? attribute("resultVariable"),
    correlationKey: optional(
      textIn(named("subscription"), "correlationKey") ?? attribute("correlationKey"),
      textOrComputed,
    ),
    called: optional(textIn(called, "processId"), textOrComputed),
    calledVersion: Number(textIn(called, "version") ?? attribute("calledElementVersion") ?? Number.NaN) || null,
    binding: bindingIn(called ?? decision ?? named("formDefinition"), attribute),
    waits: (textIn(called, "waitForCompletion") ?? attribute("waitForCompletion")) !== "false",
    script: script === null ? null : { text: textIn(script, "expression") ?? script.$body ?? "", format: "feel" },
    ...passedOf(all, called),
    retry:
      retryOf(named("retry"), textIn(task, "retries") ?? attribute("retries")) ??
      retryCycle(named("failedJobRetryTimeCycle")?.$body ?? ""),
    loop: loopOf(named("loopCharacteristics")),
    activeElements: optional(textIn(named("adHoc"), "activeElementsCollection"), computed),
    properties: { ...propertiesOf(model, all), ...connector?.properties },
  };
}

/** The name of the handler of a listener: its type, class or delegate expression. Null if it is a script or another expression. */
export function listenerHandler(listener: Model): string | null {
  const attributes = ["delegateExpression", "class"].map((name) => [name, textIn(listener, name)] as const);
  return textIn(listener, "type") ?? delegateOf((name) => new Map(attributes).get(name) ?? null);
}

/** The retry policy with a number of attempts. Null if the text is no number. */
export function retriesOf(retries: string | null): RetrySetting | null {
  return retryOf(null, retries);
}

/** The name of a delegate class or expression is the name of its handler. */
function delegateOf(attribute: (name: string) => string | null): string | null {
  const named = /^[$#]\{\s*([\w.-]+)\s*\}$/.exec(attribute("delegateExpression") ?? "")?.[1];
  return named ?? attribute("class");
}

/** The extensions of a multi-instance marker. `collection` and `elementVariable` may be attributes of it. */
export function loopExtensions(model: Model): Extensions["loop"] {
  const own = extensionsOf(model).loop;
  const collection = foreignAttribute(model, "collection");
  if (own !== null || collection === null) return own;
  const item = foreignAttribute(model, "elementVariable");
  return { collection: textAsExpression(collection), item, output: null };
}

function loopOf(model: Model | null): Extensions["loop"] {
  if (model === null) return null;
  const variable = textIn(model, "outputCollection");
  const element = textIn(model, "outputElement");
  return {
    collection: optional(textIn(model, "inputCollection"), computed),
    item: textIn(model, "inputElement"),
    output: variable === null || element === null ? null : { variable, element: computed(element) },
  };
}

function mappingsOf(all: readonly Model[]): ReadParameters {
  const inputs: Mapping[] = [];
  const outputs: Mapping[] = [];
  const ignored: string[] = [];
  for (const model of all) {
    const name = localName(model.$type);
    if (name === "in" || name === "out") (name === "in" ? inputs : outputs).push(...inOut(model));
    if (name !== "ioMapping" && name !== "inputOutput") continue;
    const read = parametersIn(model);
    inputs.push(...read.inputs);
    outputs.push(...read.outputs);
    ignored.push(...read.ignored);
  }
  return { inputs, outputs, ignored };
}

function inOut(model: Model): readonly Mapping[] {
  const target = textIn(model, "target");
  if (target === null) return [];
  const source = textIn(model, "sourceExpression") ?? textIn(model, "source") ?? "";
  return [{ source: textAsExpression(source), target }];
}

/** The source of a mapping is always evaluated; a variable name is an expression too. */
function textAsExpression(text: string): Expression {
  return computed(text);
}

function retryOf(model: Model | null, retries: string | null): RetrySetting | null {
  const maxAttempts = Number(textIn(model, "maxAttempts") ?? (retries === null ? Number.NaN : retries));
  if (model === null)
    return Number.isInteger(maxAttempts) && maxAttempts > 0 ? { ...RETRY_DEFAULT, maxAttempts } : null;
  const backoff = textIn(model, "backoff");
  const number = (name: string, fallback: number): number => Number(textIn(model, name) ?? fallback);
  return {
    maxAttempts: Number.isInteger(maxAttempts) ? maxAttempts : RETRY_DEFAULT.maxAttempts,
    backoff: backoff === "linear" || backoff === "fixed" ? backoff : "exponential",
    initialMs: number("initialMs", RETRY_DEFAULT.initialMs),
    maxMs: number("maxMs", RETRY_DEFAULT.maxMs),
    jitter: number("jitter", RETRY_DEFAULT.jitter),
  };
}

/** The binding of an extension element of Camunda 8, or of the attributes of Camunda 7. */
function bindingIn(reference: Model | null, attribute: (name: string) => string | null): Binding | null {
  const own = bindingOf(textIn(reference, "bindingType"), textIn(reference, "versionTag"), null);
  const found = ["calledElement", "decisionRef", "formRef"].map((name) =>
    bindingOf(attribute(`${name}Binding`), attribute(`${name}VersionTag`), attribute(`${name}Version`)),
  );
  return own ?? found.find((each) => each !== null) ?? null;
}

/** The variables that a call activity passes and returns. Elements `in` and `out` name them, or all. */
function passedOf(all: readonly Model[], called: Model | null): Pick<Extensions, "passes" | "returns"> {
  const named = (name: string) => all.filter((each) => localName(each.$type) === name && !("businessKey" in each));
  const isAll = (models: readonly Model[]): boolean => models.some((each) => textIn(each, "variables") === "all");
  const inputs = named("in");
  const passesInputs =
    textIn(called, "propagateAllParentVariables") === "false" || (inputs.length > 0 && !isAll(inputs));
  const returnsOutputs = textIn(called, "propagateAllChildVariables") === "false";
  return {
    passes: passesInputs ? "inputs" : "all",
    returns: isAll(named("out")) ? "all" : returnsOutputs ? "outputs" : null,
  };
}

/** The retry policy in a cycle such as `R5/PT1M`: 5 attempts, one a minute. Null if the text is something else. */
export function retryCycle(text: string): RetrySetting | null {
  const cycle = parseTimer("cycle", text);
  if (cycle?.kind !== "cycle" || cycle.times === null || cycle.times < 1 || cycle.duration.months > 0) return null;
  const { ms } = cycle.duration;
  return { maxAttempts: cycle.times, backoff: "fixed", initialMs: ms, maxMs: ms, jitter: 0 };
}

/** Extension attributes, headers and properties by name. Attributes of extension elements are named `element.attribute`. */
function propertiesOf(model: Model, all: readonly Model[]): Readonly<Record<string, string>> {
  const properties: Record<string, string> = {};
  for (const [name, value] of Object.entries(model.$attrs ?? {})) {
    if (name.includes(":") && !name.startsWith("xmlns")) properties[localName(name)] = String(value);
  }
  for (const extension of all) {
    for (const child of extension.$children ?? []) {
      const key = textIn(child, "key") ?? textIn(child, "name");
      const value = textIn(child, "value");
      if (key !== null && value !== null) properties[key] = value;
    }
    for (const [name, value] of Object.entries(extension)) {
      if (!name.startsWith("$") && typeof value === "string")
        properties[`${localName(extension.$type)}.${name}`] = value;
    }
  }
  return properties;
}

export function foreignAttribute(model: Model, name: string): string | null {
  for (const [key, value] of Object.entries(model.$attrs ?? {})) {
    if (key.includes(":") && localName(key) === name) return String(value);
  }
  return null;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function optional<T>(text: string | null, make: (text: string) => T): T | null {
  return text === null ? null : make(text);
}
