import type { XmlElement } from "../xml/xml-element.ts";
import type { DecisionModelElement, ItemDefinition, Requirement } from "./decision-model.ts";
import { bodyOf, expressionIn, parametersOf } from "./read-expression.ts";
import { childOf, childrenOf, labelOf, type SourceReader, textIn } from "./read-source.ts";

/** Reads the elements of one document. */
export function readElements(reader: SourceReader): readonly DecisionModelElement[] {
  return reader.root.children.flatMap((child) => {
    const element = elementOf(reader, child);
    return element === null ? [] : [element];
  });
}

function elementOf(reader: SourceReader, element: XmlElement): DecisionModelElement | null {
  switch (element.name) {
    case "inputData":
      return { kind: "input", ...namedOf(reader, element) };
    case "decision":
      return {
        kind: "decision",
        ...namedOf(reader, element),
        needs: needsOf(reader, element),
        logic: expressionIn(reader, element),
      };
    case "businessKnowledgeModel": {
      const logic = childOf(element, "encapsulatedLogic");
      return {
        kind: "knowledge",
        ...namedOf(reader, element),
        needs: needsOf(reader, element),
        parameters: logic === undefined ? [] : parametersOf(reader, logic),
        body: logic === undefined ? null : bodyOf(reader, logic),
      };
    }
    case "decisionService":
      return {
        kind: "service",
        ...namedOf(reader, element),
        outputs: referencesOf(reader, childrenOf(element, "outputDecision")),
        inputDecisions: referencesOf(reader, childrenOf(element, "inputDecision")),
        inputData: referencesOf(reader, childrenOf(element, "inputData")),
      };
    default:
      return null;
  }
}

function namedOf(reader: SourceReader, element: XmlElement) {
  const name = element.attributes.get("name");
  const id = element.attributes.get("id") ?? name ?? "";
  if (name === undefined || name === "") reader.problem(element, `${element.name} has no name`);
  const variable = childOf(element, "variable");
  return {
    key: `${reader.namespace}#${id}`,
    id,
    name: name ?? id,
    namespace: reader.namespace,
    line: element.line,
    type: reader.type(variable ?? element, variable?.attributes.get("typeRef")),
  };
}

function needsOf(reader: SourceReader, element: XmlElement): readonly Requirement[] {
  const requirements = childrenOf(element, "informationRequirement", "knowledgeRequirement");
  return referencesOf(
    reader,
    requirements.flatMap((found) => childrenOf(found, "requiredInput", "requiredDecision", "requiredKnowledge")),
  );
}

function referencesOf(reader: SourceReader, elements: readonly XmlElement[]): readonly Requirement[] {
  return elements.flatMap((element) => {
    const requirement = reader.requirement(element);
    return requirement === null ? [] : [requirement];
  });
}

export function readItems(reader: SourceReader): readonly ItemDefinition[] {
  return childrenOf(reader.root, "itemDefinition").map((element) => itemOf(reader, element));
}

function itemOf(reader: SourceReader, element: XmlElement): ItemDefinition {
  const name = element.attributes.get("name") ?? labelOf(element);
  const type = childOf(element, "typeRef");
  const tests = (child: string) => {
    const text = textIn(childOf(element, child));
    return text === undefined || text.trim() === "" ? null : reader.unaryTests(element, text);
  };
  return {
    name,
    isCollection: element.attributes.get("isCollection") === "true",
    type: reader.type(type ?? element, type?.text ?? element.attributes.get("typeRef")),
    components: childrenOf(element, "itemComponent").map((component) => itemOf(reader, component)),
    isFunction: childOf(element, "functionItem") !== undefined,
    allowedValues: tests("allowedValues"),
    constraint: tests("typeConstraint"),
  };
}
