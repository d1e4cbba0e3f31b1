import type { Evaluation } from "../evaluation.ts";
import { asMoment } from "../temporal.ts";
import { type FeelValue, isKind, isList, kindOf } from "../value.ts";

/**
 * A parameter of a built-in function. Signatures are declared as text: `substring(string: string, start position: number, length?:
 * number)`. A call uses the first signature that accepts its arguments, and is null if none does, so bodies need no type checks.
 */
interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  readonly isRest: boolean;
  readonly isNullable: boolean;
}

type Body = (args: readonly FeelValue[], run: Evaluation) => FeelValue;

export interface Signature {
  readonly parameters: readonly Parameter[];
  /** Converts the arguments to the parameters' types. Null if one cannot be converted. */
  readonly fit: (args: readonly (FeelValue | undefined)[]) => readonly FeelValue[] | null;
  readonly call: Body;
}

export interface Builtin {
  readonly name: string;
  readonly signatures: readonly Signature[];
}

const KINDS: Readonly<Record<string, readonly string[]>> = {
  duration: ["days and time duration", "years and months duration"],
  day: ["date", "date and time"],
  clock: ["time", "date and time"],
  temporal: ["date", "time", "date and time"],
};

/** Declares one signature; `?` after a name makes it optional, `...` takes the rest, `?` after a type allows null. */
export function signature(text: string, call: Body): { readonly name: string; readonly signature: Signature } {
  const open = text.indexOf("(");
  const list = text.slice(open + 1, -1);
  const parameters = list === "" ? [] : list.split(", ").map(parameterOf);
  return { name: text.slice(0, open), signature: { parameters, call, fit: (args) => fitted(parameters, args) } };
}

function parameterOf(text: string): Parameter {
  const [left = "", right = "any"] = text.split(": ");
  const isRest = left.startsWith("...");
  const isOptional = left.endsWith("?");
  return {
    name: left.slice(isRest ? 3 : 0, isOptional ? -1 : undefined),
    type: right.endsWith("?") ? right.slice(0, -1) : right,
    isOptional,
    isRest,
    isNullable: right.endsWith("?") || right === "any",
  };
}

function fitted(
  parameters: readonly Parameter[],
  args: readonly (FeelValue | undefined)[],
): readonly FeelValue[] | null {
  const values: FeelValue[] = [];
  for (const [i, parameter] of parameters.entries()) {
    if (parameter.isRest) {
      const rest = args.slice(i).map((arg) => fit(arg ?? null, parameter));
      return rest.includes(undefined) ? null : [...values, rest as FeelValue[]];
    }
    const arg = args[i];
    if (arg === undefined && !parameter.isOptional) return null;
    // An omitted optional argument becomes null. An explicit null is accepted only if the type is nullable.
    const value =
      arg === undefined
        ? null
        : arg === null && parameter.isOptional && !parameter.isNullable
          ? undefined
          : fit(arg, parameter);
    if (value === undefined) return null;
    values.push(value);
  }
  return values;
}

/** Undefined if the value does not have the parameter's type. A list of one item and its item are interchangeable. */
function fit(value: FeelValue, { type, isNullable }: Parameter): FeelValue | undefined {
  if (type === "any") return value;
  if (value === null) return isNullable ? null : undefined;
  if (isOf(value, type)) return value;
  if (type === "list") return [value];
  if (type === "date and time" && isKind(value, "date")) return asMoment(value) ?? undefined;
  if (isList(value) && value.length === 1) {
    const [only = null] = value;
    return only !== null && isOf(only, type) ? only : undefined;
  }
  return undefined;
}

function isOf(value: FeelValue, type: string): boolean {
  const kind = kindOf(value);
  return KINDS[type]?.includes(kind) ?? kind === type;
}
