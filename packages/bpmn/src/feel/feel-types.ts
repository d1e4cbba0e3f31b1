import { asMoment } from "./temporal.ts";
import { entryOf, type FeelKind, type FeelType, type FeelValue, isContext, isKind, isList, kindOf } from "./value.ts";

/** Returns the type of a model's item definition by name. Undefined if the name is unknown. */
export type NamedTypes = (name: string) => NamedType | undefined;

export interface NamedType {
  readonly isCollection: boolean;
  /** Whether the value has this type and meets its constraints. Never called with null. */
  readonly holds: (value: FeelValue) => boolean;
  /** Whether the value has this type, whatever values its constraints allow. */
  readonly isShaped: (value: FeelValue) => boolean;
  /** Converts the parts of the value to their types. */
  readonly adjust: (value: FeelValue) => FeelValue;
}

const KINDS: Readonly<Record<string, FeelKind>> = {
  boolean: "boolean",
  number: "number",
  string: "string",
  list: "list",
  context: "context",
  date: "date",
  time: "time",
  "date and time": "date and time",
  dateTime: "date and time",
  "days and time duration": "days and time duration",
  dayTimeDuration: "days and time duration",
  "years and months duration": "years and months duration",
  yearMonthDuration: "years and months duration",
  range: "range",
  function: "function",
};

/** The kind of a built-in type name. Null if the name is not a built-in type. */
export function kindNamed(name: string): FeelKind | null {
  return Object.hasOwn(KINDS, name) ? (KINDS[name] ?? null) : null;
}

/** Null is an instance of `Null` only. */
export function isInstance(value: FeelValue, type: FeelType, named: NamedTypes): boolean {
  if (type.kind === "name" && type.name === "Null") return value === null;
  // `instance of` tests the type, and not the allowed values.
  const shapes: NamedTypes = (name) => {
    const found = named(name);
    return found === undefined ? undefined : { ...found, holds: found.isShaped };
  };
  return value !== null && conforms(value, type, shapes);
}

/** Whether the value conforms to the type. Null conforms to every type. */
export function conforms(value: FeelValue, type: FeelType, named: NamedTypes): boolean {
  if (value === null) return true;
  switch (type.kind) {
    case "name":
      return conformsToName(value, type.name, named);
    case "list":
      return isList(value) && value.every((item) => conforms(item, type.of, named));
    case "range":
      return isKind(value, "range") && conforms(value.start, type.of, named) && conforms(value.end, type.of, named);
    case "context":
      return (
        isContext(value) &&
        type.fields.every((field) => {
          const entry = entryOf(value, field.name);
          return entry !== undefined && conforms(entry, field.type, named);
        })
      );
    case "function":
      return (
        isKind(value, "function") &&
        isFunctionOf(
          value.parameters.map((p) => p.type),
          value.result,
          type,
        )
      );
  }
}

function conformsToName(value: FeelValue, name: string, named: NamedTypes): boolean {
  if (name === "Any") return true;
  if (name === "Null") return false;
  const kind = kindNamed(name);
  return kind === null ? (named(name)?.holds(value) ?? false) : kindOf(value) === kind;
}

/** Parameter types are contravariant, result types covariant. An undeclared type is `Any`. */
function isFunctionOf(
  parameters: readonly (FeelType | null)[],
  result: FeelType | null,
  type: Extract<FeelType, { readonly kind: "function" }>,
): boolean {
  if (parameters.length !== type.parameters.length) return false;
  const fits = parameters.every((own, i) => own === null || isSubtype(type.parameters[i] ?? ANY, own));
  return fits && (result === null || isSubtype(result, type.result));
}

const ANY: FeelType = { kind: "name", name: "Any" };

function isSubtype(sub: FeelType, type: FeelType): boolean {
  if (type.kind === "name" && type.name === "Any") return true;
  if (sub.kind === "name" && sub.name === "Null") return true;
  if (type.kind === "name") return sub.kind === type.name || (sub.kind === "name" && sub.name === type.name);
  switch (sub.kind) {
    case "name":
      return false;
    case "list":
    case "range":
      return type.kind === sub.kind && isSubtype(sub.of, type.of);
    case "context":
      return (
        type.kind === "context" &&
        type.fields.every(({ name, type: wanted }) =>
          sub.fields.some((field) => field.name === name && isSubtype(field.type, wanted)),
        )
      );
    case "function":
      return (
        type.kind === "function" &&
        sub.parameters.length === type.parameters.length &&
        sub.parameters.every((own, i) => isSubtype(type.parameters[i] ?? ANY, own)) &&
        isSubtype(sub.result, type.result)
      );
  }
}

/** Returns the value, implicitly converted to the type if necessary. Null if it cannot be converted. */
export function coerced(value: FeelValue, type: FeelType, named: NamedTypes): FeelValue {
  if (value === null) return null;
  const adjusted = adjustedTo(value, type, named);
  if (conforms(adjusted, type, named)) return adjusted;
  if (isList(adjusted)) {
    const [only = null] = adjusted;
    if (adjusted.length !== 1 || isListType(type, named)) return null;
    const single = adjustedTo(only, type, named);
    return conforms(single, type, named) ? single : null;
  }
  if (isListType(type, named)) {
    const list = adjustedTo([value], type, named);
    return conforms(list, type, named) ? list : null;
  }
  const moment = type.kind === "name" && kindNamed(type.name) === "date and time" ? asMoment(value) : null;
  return moment;
}

function adjustedTo(value: FeelValue, type: FeelType, named: NamedTypes): FeelValue {
  return type.kind === "name" ? (named(type.name)?.adjust(value) ?? value) : value;
}

function isListType(type: FeelType, named: NamedTypes): boolean {
  if (type.kind === "list") return true;
  return type.kind === "name" && (type.name === "list" || (named(type.name)?.isCollection ?? false));
}
