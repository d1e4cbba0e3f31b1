import { guardArguments, PawlError } from "pawl";
import { normalName } from "../feel/names.ts";
import { readXml } from "../xml/read-xml.ts";
import type { XmlElement } from "../xml/xml-element.ts";
import type {
  DecisionModel,
  DecisionModelElement,
  DecisionProblem,
  ElementKey,
  ItemDefinition,
} from "./decision-model.ts";
import { readElements, readItems } from "./read-model.ts";
import { isDmn, SourceReader } from "./read-source.ts";

/** A DMN document, or several; the first imports the others. */
export type DecisionSource = string | Uint8Array | readonly (string | Uint8Array)[];

/** Reads DMN 1.1 to 1.5. Throws `DECISION_INVALID` with all problems in the message if there are any. */
export function readDecisions(source: DecisionSource): DecisionModel {
  const { model, problems } = inspectDecisions(source);
  if (problems.length === 0) return model;
  const listed = problems.map(({ element, line, text }) => `line ${line}, ${element}: ${text}`).join("\n");
  throw new PawlError(
    "DECISION_INVALID",
    `model ${model.name} is not valid; fix ${problems.length} problems:\n${listed}`,
  );
}

/** Reads a model and returns its problems. An element that could not be read evaluates to null. */
export function inspectDecisions(source: DecisionSource): {
  readonly model: DecisionModel;
  readonly problems: readonly DecisionProblem[];
} {
  const sources: readonly (string | Uint8Array)[] = guardArguments("document", () =>
    Array.isArray(source) ? [...source] : [source],
  );
  const roots = sources.map((text) => readXml(text));
  const names = new Set(roots.flatMap((root) => [...namesIn(root)]));
  const problems: DecisionProblem[] = [];
  const readers = roots.map((root) => new SourceReader(root, names, problems));
  for (const reader of readers) {
    if (reader.root.name !== "definitions" || !isDmn(reader.root))
      reader.problem(reader.root, "the document is not a DMN model");
  }
  const elements = new Map<string, DecisionModelElement>();
  for (const element of readers.flatMap((reader) => readElements(reader))) {
    if (elements.has(element.key)) {
      problems.push({ element: element.id, line: element.line, text: "another element has the same id" });
    }
    elements.set(element.key, element);
  }
  const [first] = roots;
  const model: DecisionModel = {
    name: first?.attributes.get("name") ?? "",
    namespace: first?.attributes.get("namespace") ?? "",
    elements,
    items: itemsOf(readers),
  };
  return { model, problems: [...problems, ...linkProblems(model)] };
}

/** The item definitions of each model, and those of its imports under the import's name. */
function itemsOf(readers: readonly SourceReader[]): ReadonlyMap<string, ItemDefinition> {
  const byNamespace = new Map(readers.map((reader) => [reader.namespace, readItems(reader)]));
  const items = new Map<string, ItemDefinition>();
  for (const { namespace, imports } of readers) {
    for (const item of byNamespace.get(namespace) ?? []) items.set(`${namespace}#${item.name}`, item);
    for (const [name, imported] of imports) {
      for (const item of byNamespace.get(imported) ?? []) {
        items.set(`${namespace}#${name === "" ? "" : `${name}.`}${item.name}`, item);
      }
    }
  }
  return items;
}

const NAMING = ["name", "iteratorVariable"];

/** All names that the document declares. The expression parser must know those that are not plain words. */
function* namesIn(root: XmlElement): Generator<string> {
  const open = [root];
  for (let element = open.pop(); element !== undefined; element = open.pop()) {
    open.push(...element.children);
    if (!isDmn(element)) continue;
    for (const attribute of NAMING) {
      const name = normalName(element.attributes.get(attribute) ?? "");
      if (name !== "") yield name;
    }
  }
}

/** Problems of references: missing elements and cycles. */
function linkProblems(model: DecisionModel): readonly DecisionProblem[] {
  const missing = [...model.elements.values()].flatMap((element) =>
    linksOf(element)
      .filter((key) => !model.elements.has(key))
      .map((key) => problem(element, `required element ${key.slice(key.lastIndexOf("#") + 1)} not found`)),
  );
  return [...missing, ...cycles(model)];
}

function problem({ id, line }: DecisionModelElement, text: string): DecisionProblem {
  return { element: id, line, text };
}

function linksOf(element: DecisionModelElement): readonly ElementKey[] {
  switch (element.kind) {
    case "input":
      return [];
    case "decision":
    case "knowledge":
      return element.needs.map(({ key }) => key);
    case "service":
      return [...element.outputs, ...element.inputDecisions, ...element.inputData].map(({ key }) => key);
  }
}

/** Decisions must not depend on themselves. Knowledge models may call themselves. */
function cycles(model: DecisionModel): readonly DecisionProblem[] {
  const found: DecisionProblem[] = [];
  const state = new Map<ElementKey, "open" | "done">();
  for (const start of model.elements.keys()) {
    const path: { readonly key: ElementKey; readonly rest: ElementKey[] }[] = [];
    const enter = (key: ElementKey): void => {
      const element = model.elements.get(key);
      if (element?.kind !== "decision") return;
      if (state.get(key) === "open")
        found.push(problem(element, "the decision depends on itself, directly or through others"));
      if (state.has(key)) return;
      state.set(key, "open");
      path.push({ key, rest: [...linksOf(element)] });
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.pop();
      if (next !== undefined) enter(next);
      else {
        state.set(top.key, "done");
        path.pop();
      }
    }
  }
  return found;
}
