import { DEPTH_MAX, hasOwnProperties, isData } from "./payload-tree.ts";
import { objectKind, pathStep } from "./payload-values.ts";

const PATH_CHARACTERS_MAX = 200;

/** A part of a container, with its path step. It has a value, or a flaw that prevents storing it. */
type Part =
  | { readonly kind: "value"; readonly step: string; readonly value: unknown }
  | { readonly kind: "flaw"; readonly step: string; readonly flaw: string };

/**
 * Returns why a value cannot be stored, with the path of the unsupported part: `$.items[3].fn is a function`. Descends into the first
 * unsupported part until a value is unsupported itself.
 */
export function payloadRefusal(value: unknown): string {
  const ancestors: object[] = [];
  let path = "$";
  let current = value;
  try {
    while (ancestors.length <= DEPTH_MAX) {
      const flaw = ownFlaw(current, ancestors);
      if (flaw !== null) return `${shortened(path)} ${flaw}`;
      ancestors.push(current as object);
      const part = refusedPart(current as object, ancestors.length);
      if (part === null) break;
      path += part.step;
      if (part.kind === "flaw") return `${shortened(path)} ${part.flaw}`;
      current = part.value;
    }
    return `${shortened(path)} cannot be stored without loss`;
  } catch (error) {
    return `${shortened(path)} cannot be read: ${error instanceof Error ? error.message : "it throws"}`;
  }
}

/** Shortens a long path to its beginning and its end. */
function shortened(path: string): string {
  return path.length <= PATH_CHARACTERS_MAX
    ? path
    : `${path.slice(0, PATH_CHARACTERS_MAX / 2)}…${path.slice(-PATH_CHARACTERS_MAX / 2)}`;
}

/** Returns why a value is unsupported, apart from its parts. Null if only a part can be the reason. */
function ownFlaw(value: unknown, ancestors: readonly object[]): string | null {
  if (typeof value === "function") return "is a function";
  if (typeof value === "symbol") return "is a symbol";
  if (typeof value !== "object" || value === null) return "cannot be stored without loss";
  if (ancestors.includes(value)) return "is a cycle: it contains itself";
  if (ancestors.length >= DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
  const kind = objectKind(value);
  if (kind === null) return `is an instance of ${className(value)}`;
  if (kind === "date" || kind === "map" || kind === "set") {
    return hasOwnProperties(value) ? "has extra properties, which would be lost" : null;
  }
  return null;
}

function className(value: object): string {
  const maker: unknown = (value as { constructor?: unknown }).constructor;
  if (typeof maker === "function" && maker.name !== "") return maker.name;
  return "an anonymous class";
}

function refusedPart(container: object, depth: number): Part | null {
  for (const part of parts(container)) {
    if (part.kind === "flaw") return part;
    if (!isData(part.value, depth)) return part;
  }
  return null;
}

function parts(container: object): Iterable<Part> {
  switch (objectKind(container)) {
    case "record":
      return recordParts(container);
    case "list":
      return listParts(container as readonly unknown[]);
    case "map":
      return mapParts(container as ReadonlyMap<unknown, unknown>);
    case "set":
      return setParts(container as ReadonlySet<unknown>);
    default:
      return [];
  }
}

function* recordParts(record: object): Iterable<Part> {
  for (const key of Reflect.ownKeys(record)) {
    if (typeof key === "symbol") {
      yield { kind: "flaw", step: "", flaw: `has a symbol as a key: ${String(key)}` };
      continue;
    }
    const property = Object.getOwnPropertyDescriptor(record, key);
    const step = pathStep(key);
    if (property === undefined) yield { kind: "flaw", step, flaw: "cannot be read" };
    else if (!property.enumerable) yield { kind: "flaw", step, flaw: "is not enumerable" };
    else yield { kind: "value", step, value: Reflect.get(record, key) as unknown };
  }
}

function* listParts(list: readonly unknown[]): Iterable<Part> {
  for (let index = 0; index < list.length; index++) {
    const step = pathStep(index);
    if (index in list) yield { kind: "value", step, value: list[index] };
    else yield { kind: "flaw", step, flaw: "is a hole in the array" };
  }
  const extra = Reflect.ownKeys(list).find(
    (key) => typeof key === "symbol" || !(key === "length" || /^\d+$/.test(key)),
  );
  if (extra !== undefined) {
    yield { kind: "flaw", step: "", flaw: `is an array with an extra property: ${String(extra)}` };
  }
}

function* mapParts(map: ReadonlyMap<unknown, unknown>): Iterable<Part> {
  let index = 0;
  for (const [key, value] of map) {
    yield { kind: "value", step: `[key ${index}]`, value: key };
    yield { kind: "value", step: typeof key === "string" ? pathStep(key) : `[value ${index}]`, value };
    index++;
  }
}

function* setParts(set: ReadonlySet<unknown>): Iterable<Part> {
  let index = 0;
  for (const value of set) yield { kind: "value", step: pathStep(index++), value };
}
