import { type Names, normalName } from "./names.ts";
import type { Scanner } from "./scanner.ts";
import type { FeelType } from "./value.ts";

const DEPTH_MAX = 20;
const FIELD = /([^,<>:"]+?)\s*:/y;

/** Parses a type, as it follows `instance of` or a parameter's name. */
export function parseType(scan: Scanner, names: Names, depth = 0): FeelType {
  if (depth > DEPTH_MAX) throw scan.syntaxError("type nested too deeply");
  const inner = (): FeelType => parseType(scan, names, depth + 1);
  if (scan.isWord("function")) return functionType(scan, inner);
  const name = qualifiedName(scan, names);
  const isGeneric = (name === "list" || name === "range" || name === "context") && scan.take("<");
  if (!isGeneric) return { kind: "name", name };
  if (name === "context") {
    const fields = separated(scan, () => {
      const field = scan.match(FIELD)?.[1];
      if (field === undefined) throw scan.syntaxError("expected a field name");
      return { name: normalName(field), type: inner() };
    });
    return { kind: "context", fields };
  }
  const of = inner();
  scan.expect(">");
  return { kind: name === "list" ? "list" : "range", of };
}

function functionType(scan: Scanner, inner: () => FeelType): FeelType {
  scan.expectWord("function");
  if (!scan.take("<")) return { kind: "name", name: "function" };
  const parameters = scan.take(">") ? [] : separated(scan, inner);
  scan.expect("->");
  return { kind: "function", parameters, result: inner() };
}

function separated<T>(scan: Scanner, read: () => T): readonly T[] {
  const items = [read()];
  while (scan.take(",")) items.push(read());
  scan.expect(">");
  return items;
}

function qualifiedName(scan: Scanner, names: Names): string {
  if (scan.takeWord("null")) return "Null";
  const parts: string[] = [];
  do {
    const part = scan.name(names);
    if (part === null) throw scan.syntaxError("expected a type");
    parts.push(part);
  } while (scan.take("."));
  return parts.join(".");
}
