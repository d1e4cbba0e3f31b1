import { computed, type Expression, type Mapping, textOrComputed } from "../model/process.ts";
import type { Problems } from "./problem.ts";

export type Data = Readonly<Record<string, unknown>>;

/** How a text is read: always as an expression, or only if it is marked as one. */
type Mode = "computed" | "marked";

/** Reads the fields of a node's data. A field of a wrong type is reported as a problem, and reads like a missing one. */
export class GraphData {
  readonly #data: Data;
  readonly #element: string;
  readonly #path: string;
  readonly #problems: Problems;

  constructor(data: Data, element: string, problems: Problems, path = "data") {
    this.#data = data;
    this.#element = element;
    this.#path = path;
    this.#problems = problems;
  }

  has(name: string): boolean {
    return this.value(name) !== undefined;
  }

  /** Undefined if there is none. A null counts as none. */
  value(name: string): unknown {
    const value = Object.hasOwn(this.#data, name) ? this.#data[name] : undefined;
    return value === null ? undefined : value;
  }

  report(name: string, text: string): void {
    this.#problems.add(this.#element, null, `${this.#path}.${name} ${text}`);
  }

  text(name: string): string | null {
    const value = this.value(name);
    if (value === undefined || value === "") return null;
    if (typeof value === "string") return value;
    this.report(name, "must be a string");
    return null;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.value(name);
    if (typeof value === "boolean") return value;
    if (value !== undefined) this.report(name, "must be true or false");
    return fallback;
  }

  /** A number of at least `from`. */
  number(name: string, from: number): number | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (typeof value === "number" && Number.isFinite(value) && value >= from) return value;
    this.report(name, `must be a number of at least ${from}`);
    return null;
  }

  /** An integer of at least `from`. */
  count(name: string, from: number): number | null {
    const value = this.number(name, from);
    if (value === null || Number.isSafeInteger(value)) return value;
    this.report(name, "must be an integer");
    return null;
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | null {
    const value = this.value(name);
    const found = choices.find((choice) => choice === value);
    if (found === undefined && value !== undefined) this.report(name, `must be one of ${choices.join(", ")}`);
    return found ?? null;
  }

  /** A text, a number or a boolean, or `{ text, language }`. */
  expression(name: string, mode: Mode): Expression | null {
    const value = this.value(name);
    if (value === undefined) return null;
    const made = expressionOf(value, mode);
    if (made === null) this.report(name, "must be an expression: a text, or an object with text and language");
    return made;
  }

  /** The object in a field. Names other than `known` are problems. */
  object(name: string, known: readonly string[]): GraphData | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (!isData(value)) {
      this.report(name, `must be an object with ${known.join(", ")}`);
      return null;
    }
    return this.#inside(value, name, known);
  }

  objects(name: string, known: readonly string[]): readonly GraphData[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every(isData))
      return value.map((item, i) => this.#inside(item, `${name}[${i}]`, known));
    this.report(name, "must be a list of objects");
    return [];
  }

  #inside(value: Data, name: string, known: readonly string[]): GraphData {
    for (const field of Object.keys(value))
      if (!known.includes(field)) this.report(`${name}.${field}`, `is unknown; use ${known.join(", ")}`);
    return new GraphData(value, this.#element, this.#problems, `${this.#path}.${name}`);
  }

  /** Mappings as an object from target to source, or as a list of `{ source, target }`. */
  mappings(name: string, mode: Mode): readonly Mapping[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      if (!isData(value)) this.report(name, "must be an object from variable to expression, or a list of mappings");
      const all = new GraphData(isData(value) ? value : {}, this.#element, this.#problems, `${this.#path}.${name}`);
      return Object.keys(isData(value) ? value : {}).flatMap((target) => {
        const source = all.expression(target, mode);
        return source === null ? [] : [{ source, target }];
      });
    }
    return this.objects(name, ["source", "target"]).flatMap((each) => {
      const source = each.expression("source", mode);
      const target = each.text("target");
      if (source !== null && target !== null) return [{ source, target }];
      this.report(name, "has a mapping without source or target");
      return [];
    });
  }
}

export function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function expressionOf(value: unknown, mode: Mode): Expression | null {
  const read = mode === "computed" ? computed : textOrComputed;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return read(String(value));
  if (!isData(value)) return null;
  const { text, language = null, ...rest } = value;
  const isExpression = typeof text === "string" && (language === null || typeof language === "string");
  return isExpression && Object.keys(rest).length === 0 ? read(text, language) : null;
}
