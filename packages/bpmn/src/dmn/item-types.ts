import type { UnaryTests } from "../feel/ast.ts";
import { evaluate } from "../feel/evaluate.ts";
import { childScope, Evaluation, FEEL_BUDGET } from "../feel/evaluation.ts";
import { conforms, kindNamed, type NamedType, type NamedTypes } from "../feel/feel-types.ts";
import { parseDate, parseDateTime, parseDuration, parseTime } from "../feel/temporal-text.ts";
import { meetsAll } from "../feel/unary-tests.ts";
import { contextOf, entryOf, type FeelType, type FeelValue, isContext, isKind, isList } from "../feel/value.ts";
import type { DecisionModel, ItemDefinition } from "./decision-model.ts";

const DEPTH_MAX = 100;

/** The types of a model's item definitions. An unqualified name, as in an expression, refers to the first model. */
export function itemTypes({ items, namespace }: DecisionModel): NamedTypes {
  const cache = new Map<string, NamedType | undefined>();
  const types: NamedTypes = (name) => {
    if (cache.has(name)) return cache.get(name);
    const item = items.get(name) ?? items.get(`${namespace}#${name}`);
    const type = item === undefined ? undefined : itemType(item, types);
    cache.set(name, type);
    return type;
  };
  return types;
}

function itemType(item: ItemDefinition, types: NamedTypes): NamedType {
  const inner = item.type?.kind === "name" ? item.type.name : null;
  return {
    isCollection: item.isCollection || (inner !== null && (types(inner)?.isCollection ?? false)),
    holds: (value) => holds(item, value, { types, ignoresConstraints: false }, 0),
    isShaped: (value) => holds(item, value, { types, ignoresConstraints: true }, 0),
    adjust: (value) => value,
  };
}

interface Test {
  readonly types: NamedTypes;
  readonly ignoresConstraints: boolean;
}

function holds(item: ItemDefinition, value: FeelValue, test: Test, depth: number): boolean {
  if (value === null) return true;
  if (depth > DEPTH_MAX) return false;
  const { types, ignoresConstraints } = test;
  if (item.constraint !== null && !ignoresConstraints && !meetsTests(value, item.constraint, types)) return false;
  if (!item.isCollection) return holdsOne(item, value, test, depth);
  return isList(value) && value.every((part) => part === null || holdsOne(item, part, test, depth));
}

function holdsOne(item: ItemDefinition, value: FeelValue, test: Test, depth: number): boolean {
  const { types, ignoresConstraints } = test;
  if (item.allowedValues !== null && !ignoresConstraints && !meetsAllowed(value, item.allowedValues, types))
    return false;
  if (item.isFunction) return isKind(value, "function");
  if (item.components.length === 0) return item.type === null || conforms(value, item.type, namesOf(test));
  return (
    isContext(value) &&
    item.components.every((component) => {
      const entry = entryOf(value, component.name);
      return entry !== undefined && holds(component, entry, test, depth + 1);
    })
  );
}

/** The named types, without their constraints if the test ignores them. */
function namesOf({ types, ignoresConstraints }: Test): NamedTypes {
  if (!ignoresConstraints) return types;
  return (name) => {
    const found = types(name);
    return found === undefined ? undefined : { ...found, holds: found.isShaped };
  };
}

/** If the value is a list although the item is not a collection, each of its items must be allowed. */
function meetsAllowed(value: FeelValue, tests: UnaryTests, types: NamedTypes): boolean {
  return isList(value) ? value.every((item) => meetsTests(item, tests, types)) : meetsTests(value, tests, types);
}

function meetsTests(value: FeelValue, tests: UnaryTests, types: NamedTypes): boolean {
  const run = new Evaluation({ budget: FEEL_BUDGET, world: {}, types });
  const scope = childScope(null, { "?": value });
  return meetsAll(value, tests, (node) => evaluate(node, scope, run)) === true;
}

/** Converts an input to its declared type: text becomes dates, times and durations; missing components become null. */
export function inputOf(
  value: FeelValue,
  type: FeelType | null,
  items: ReadonlyMap<string, ItemDefinition>,
  depth = 0,
): FeelValue {
  if (value === null || type?.kind !== "name" || depth > DEPTH_MAX) return value;
  const item = items.get(type.name);
  if (item === undefined) return typeof value === "string" ? temporal(value, type.name) : value;
  return itemInput(value, item, items, depth);
}

function itemInput(
  value: FeelValue,
  item: ItemDefinition,
  items: ReadonlyMap<string, ItemDefinition>,
  depth: number,
): FeelValue {
  if (item.isCollection && isList(value)) {
    return value.map((part) => itemInput(part, { ...item, isCollection: false }, items, depth + 1));
  }
  if (item.components.length === 0) return inputOf(value, item.type, items, depth + 1);
  if (!isContext(value)) return value;
  const parts = item.components.map(
    (component) =>
      [component.name, itemInput(entryOf(value, component.name) ?? null, component, items, depth + 1)] as const,
  );
  return contextOf([...Object.entries(value), ...parts]);
}

function temporal(text: string, name: string): FeelValue {
  switch (kindNamed(name)) {
    case "date":
      return parseDate(text) ?? text;
    case "time":
      return parseTime(text) ?? text;
    case "date and time":
      return parseDateTime(text) ?? text;
    case "days and time duration":
    case "years and months duration":
      return parseDuration(text) ?? text;
    default:
      return text;
  }
}
