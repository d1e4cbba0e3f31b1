import type { Evaluation } from "../evaluation.ts";
import { asMoment } from "../temporal.ts";
import { type FeelValue, isKind, isList, kindOf } from "../value.ts";

/**
 * Built-in functions say what they take as text: `substring(string: string, start position: number, length?: number)`. An
 * argument that does not fit makes the next signature try; where none fits, the call is null. So bodies see what they asked for.
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
  /** The arguments as the body gets them; null where one does not fit. */
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
    // Absent and null are one for a parameter that may be left out.
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

/** Undefined where the value is nothing for the parameter. A list of one stands for its item, an item for a list of one. */
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
