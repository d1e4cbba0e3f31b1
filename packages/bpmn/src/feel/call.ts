import type { Builtin, Signature } from "./builtins/signature.ts";
import type { Evaluation } from "./evaluation.ts";
import { coerced } from "./feel-types.ts";
import { type FeelFunction, type FeelValue, isKind } from "./value.ts";

export type Arguments =
  | { readonly kind: "positional"; readonly values: readonly FeelValue[] }
  | { readonly kind: "named"; readonly values: ReadonlyMap<string, FeelValue> };

/** Calls a function defined by the expression or by a model. */
export function callFunction(target: FeelValue, args: Arguments, run: Evaluation): FeelValue {
  if (!isKind(target, "function")) return run.warn("called value is not a function");
  const names = target.parameters.map(({ name }) => name);
  const values = args.kind === "positional" ? args.values : inNamedOrder(names, args.values);
  if (values?.length !== names.length) return run.warn(`wrong arguments; the function takes (${names.join(", ")})`);
  return invoke(target, values, run);
}

/** Null if a name is missing or unknown. */
function inNamedOrder(names: readonly string[], args: ReadonlyMap<string, FeelValue>): readonly FeelValue[] | null {
  const isComplete = args.size === names.length && names.every((name) => args.has(name));
  return isComplete ? names.map((name) => args.get(name) ?? null) : null;
}

/** Returns null if an argument does not have its parameter's type. */
function invoke(target: FeelFunction, args: readonly FeelValue[], run: Evaluation): FeelValue {
  const fitted: FeelValue[] = [];
  for (const [i, arg] of args.entries()) {
    const type = target.parameters[i]?.type ?? null;
    const value = type === null ? arg : coerced(arg, type, run.types);
    if (value === null && arg !== null) {
      return run.warn(`argument ${target.parameters[i]?.name ?? i} has the wrong type`);
    }
    fitted.push(value);
  }
  run.enter();
  const result = target.call(fitted);
  run.leave();
  return result;
}

/** Calls the first signature that accepts the arguments. */
export function callBuiltin(builtin: Builtin, args: Arguments, run: Evaluation): FeelValue {
  for (const signature of builtin.signatures) {
    const bound = args.kind === "positional" ? inOrder(signature, args.values) : byName(signature, args.values);
    const fitted = bound === null ? null : signature.fit(bound);
    if (fitted !== null) return signature.call(fitted, run);
  }
  return run.warn(`function ${builtin.name} does not accept these arguments`);
}

type Bound = readonly (FeelValue | undefined)[];

function inOrder({ parameters }: Signature, args: readonly FeelValue[]): Bound | null {
  const last = parameters.at(-1);
  if (args.length > parameters.length && last?.isRest !== true) return null;
  const isShort = parameters.some((parameter, i) => i >= args.length && !parameter.isOptional);
  return isShort ? null : args;
}

function byName({ parameters }: Signature, args: ReadonlyMap<string, FeelValue>): Bound | null {
  const names = parameters.map(({ name }) => name);
  if ([...args.keys()].some((name) => !names.includes(name))) return null;
  if (parameters.some(({ name, isOptional }) => !isOptional && !args.has(name))) return null;
  return names.map((name) => args.get(name));
}
