import type { Node } from "../feel/ast.ts";
import { evaluate } from "../feel/evaluate.ts";
import { childScope } from "../feel/evaluation.ts";
import { coerced } from "../feel/feel-types.ts";
import { type FeelParameter, type FeelType, type FeelValue, isList } from "../feel/value.ts";
import type { XmlElement } from "../xml/xml-element.ts";
import { tableNode } from "./decision-table.ts";
import { childOf, childrenOf, isDmn, type SourceReader, textIn } from "./read-source.ts";
import { readTable } from "./read-table.ts";

const EXPRESSIONS = [
  ...["literalExpression", "decisionTable", "context", "list", "relation", "functionDefinition", "invocation"],
  ...["conditional", "for", "some", "every", "filter"],
];

/** Reads the expression inside an element. Null if there is none. */
export function expressionIn(reader: SourceReader, element: XmlElement | undefined): Node | null {
  const found = element?.children.find((child) => EXPRESSIONS.includes(child.name) && isDmn(child));
  return found === undefined ? null : readExpression(reader, found);
}

const NULL: Node = { kind: "literal", value: null };

function required(reader: SourceReader, element: XmlElement, name: string): Node {
  const part = childOf(element, name);
  const node = expressionIn(reader, part);
  if (node === null) reader.problem(element, `${element.name} needs an expression in <${name}>`);
  return node ?? NULL;
}

function readExpression(reader: SourceReader, element: XmlElement): Node {
  const node = boxedOf(reader, element);
  const type = reader.type(element, element.attributes.get("typeRef"));
  return type === null || element.name === "functionDefinition" ? node : typed(node, type);
}

/** Converts the value to the type. Null if it cannot be converted. */
function typed(node: Node, type: FeelType): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const value = evaluate(node, scope, run);
      const fitted = coerced(value, type, run.types);
      if (fitted === null && value !== null) run.warn(`value does not have type ${nameOf(type)}`);
      return fitted;
    },
  };
}

function nameOf(type: FeelType): string {
  return type.kind === "name" ? type.name.slice(type.name.lastIndexOf("#") + 1) : type.kind;
}

function boxedOf(reader: SourceReader, element: XmlElement): Node {
  switch (element.name) {
    case "literalExpression":
      return literal(reader, element);
    case "decisionTable":
      return tableNode(readTable(reader, element));
    case "context":
      return context(reader, element);
    case "list":
      return { kind: "list", items: expressionsOf(reader, element) };
    case "relation":
      return relation(reader, element);
    case "functionDefinition":
      return functionDefinition(reader, element);
    case "invocation":
      return invocation(reader, element);
    case "conditional":
      return conditionalBox(
        required(reader, element, "if"),
        required(reader, element, "then"),
        required(reader, element, "else"),
      );
    case "filter":
      return filterBox(required(reader, element, "in"), required(reader, element, "match"));
    default:
      return iterator(reader, element);
  }
}

function literal(reader: SourceReader, element: XmlElement): Node {
  const text = textIn(element);
  if (text === undefined || text.trim() === "") return NULL;
  return reader.expression(element, text);
}

function expressionsOf(reader: SourceReader, element: XmlElement): readonly Node[] {
  return element.children
    .filter((child) => EXPRESSIONS.includes(child.name) && isDmn(child))
    .map((child) => readExpression(reader, child));
}

/** Each entry sees the entries before it. A last entry without a name is the value of the whole context. */
function context(reader: SourceReader, element: XmlElement): Node {
  const entries = childrenOf(element, "contextEntry").map((entry) => {
    const variable = childOf(entry, "variable");
    const type = reader.type(entry, variable?.attributes.get("typeRef"));
    const node = expressionIn(reader, entry) ?? NULL;
    return { name: variable?.attributes.get("name") ?? null, value: type === null ? node : typed(node, type) };
  });
  const named = entries.flatMap(({ name, value }) => (name === null ? [] : [{ name, value }]));
  const last = entries.at(-1);
  if (last === undefined || last.name !== null) return { kind: "context", entries: named };
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const frame: Record<string, FeelValue> = Object.create(null);
      const inner = childScope(scope, frame);
      for (const { name, value } of named) frame[name] = evaluate(value, inner, run);
      return evaluate(last.value, inner, run);
    },
  };
}

function relation(reader: SourceReader, element: XmlElement): Node {
  const columns = childrenOf(element, "column").map((column) => ({
    name: column.attributes.get("name") ?? "",
    type: reader.type(column, column.attributes.get("typeRef")),
  }));
  const items = childrenOf(element, "row").map((row): Node => {
    const cells = expressionsOf(reader, row);
    if (cells.length !== columns.length)
      reader.problem(row, `the relation row has ${cells.length} cells for ${columns.length} columns`);
    const entries = columns.map(({ name, type }, i) => {
      const cell = cells[i] ?? NULL;
      return { name, value: type === null ? cell : typed(cell, type) };
    });
    return isolated(entries);
  });
  return { kind: "list", items };
}

/** A context whose entries do not see each other. */
function isolated(entries: readonly { readonly name: string; readonly value: Node }[]): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const made: Record<string, FeelValue> = Object.create(null);
      for (const { name, value } of entries) made[name] = evaluate(value, scope, run);
      return made;
    },
  };
}

export function parametersOf(reader: SourceReader, element: XmlElement): readonly FeelParameter[] {
  return childrenOf(element, "formalParameter").map((parameter) => ({
    name: parameter.attributes.get("name") ?? "",
    type: reader.type(parameter, parameter.attributes.get("typeRef")),
  }));
}

/** The body is null where the function is one of another language. */
export function bodyOf(reader: SourceReader, element: XmlElement): Node | null {
  const kind = element.attributes.get("kind") ?? "FEEL";
  return kind === "FEEL" ? expressionIn(reader, element) : null;
}

function functionDefinition(reader: SourceReader, element: XmlElement): Node {
  return { kind: "function", parameters: parametersOf(reader, element), body: bodyOf(reader, element) };
}

function invocation(reader: SourceReader, element: XmlElement): Node {
  const callee = expressionIn(reader, element) ?? NULL;
  const args = childrenOf(element, "binding").map((binding) => ({
    name: childOf(binding, "parameter")?.attributes.get("name") ?? "",
    value: expressionIn(reader, binding) ?? NULL,
  }));
  return args.length === 0 ? { kind: "call", callee, args: [] } : { kind: "named call", callee, args };
}

function iterator(reader: SourceReader, element: XmlElement): Node {
  const name = element.attributes.get("iteratorVariable") ?? "";
  const bindings = [{ name, from: required(reader, element, "in"), to: null }];
  if (element.name === "for") return { kind: "for", bindings, body: required(reader, element, "return") };
  const body = required(reader, element, "satisfies");
  return quantifierBox(element.name === "some" ? "some" : "every", { kind: "for", bindings, body });
}

/** Boxed conditions are stricter than FEEL text: the result is null if a condition is neither boolean nor null. */

const isNotBoolean = (value: FeelValue): boolean => value !== null && typeof value !== "boolean";

function conditionalBox(test: Node, yes: Node, no: Node): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const chosen = evaluate(test, scope, run);
      if (isNotBoolean(chosen)) return run.warn("condition is not boolean");
      return evaluate(chosen === true ? yes : no, scope, run);
    },
  };
}

function filterBox(from: Node, match: Node): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      let hadNonBoolean = false;
      const watched: Node = {
        kind: "boxed",
        evaluate: (inner) => {
          const kept = evaluate(match, inner, run);
          hadNonBoolean ||= isNotBoolean(kept) && typeof kept !== "number";
          return kept;
        },
      };
      const value = evaluate({ kind: "filter", from, test: watched }, scope, run);
      return hadNonBoolean ? run.warn("filter match is not boolean") : value;
    },
  };
}

/** `each` evaluates to the list of the condition's results. */
function quantifierBox(kind: "some" | "every", each: Node): Node {
  const decisive = kind === "some";
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const results = evaluate(each, scope, run);
      if (!isList(results) || results.some(isNotBoolean)) return run.warn("condition is not boolean");
      if (results.includes(decisive)) return decisive;
      return results.includes(null) ? null : !decisive;
    },
  };
}
