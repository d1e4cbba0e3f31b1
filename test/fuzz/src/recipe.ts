import fc from "fast-check";
import { NASTY, type NastyName } from "./nasty-values.ts";

/**
 * An argument as data: a failing call is printed, made smaller and built again. The values themselves may be proxies that throw when they
 * are printed.
 */
export type Recipe =
  | { readonly kind: "nasty"; readonly name: NastyName }
  | { readonly kind: "data"; readonly value: string | number | boolean | null }
  /** Something that the fuzzed world has, such as the id of a suspended run. */
  | { readonly kind: "ref"; readonly name: string }
  | { readonly kind: "list"; readonly items: readonly Recipe[] }
  | { readonly kind: "object"; readonly fields: Readonly<Record<string, Recipe>>; readonly wrapper: Wrapper };

/** How an object holds its fields. */
const WRAPPERS = ["plain", "no prototype", "inherited", "frozen", "getters", "proxy", "unstable getters"] as const;
type Wrapper = (typeof WRAPPERS)[number];

/** Recipes of values that a parameter accepts. */
export type Parameter = fc.Arbitrary<Recipe>;

const NASTY_NAMES = Object.keys(NASTY) as NastyName[];

const nasty: Parameter = fc.constantFrom(...NASTY_NAMES).map((name) => ({ kind: "nasty", name }));

/** A value that the parameter accepts, or one that it may not. Most are accepted: a call ends at the first that is not. */
export function given(parameter: Parameter): Parameter {
  return fc.oneof({ weight: 8, arbitrary: parameter }, { weight: 1, arbitrary: nasty });
}

/** The arguments of a call: one too few and one too many are among them. */
export function givenAll(parameters: readonly Parameter[]): fc.Arbitrary<readonly Recipe[]> {
  const all: fc.Arbitrary<readonly Recipe[]> = fc.tuple(...parameters.map(given));
  const fewer = all.map((args) => args.slice(0, -1));
  const more = fc.tuple(all, nasty).map(([args, extra]) => [...args, extra]);
  return fc.oneof({ weight: 8, arbitrary: all }, { weight: 1, arbitrary: fewer }, { weight: 1, arbitrary: more });
}

export function data(...values: readonly (string | number | boolean | null)[]): Parameter {
  return fc.constantFrom(...values).map((value) => ({ kind: "data", value }));
}

export function ref(...names: readonly string[]): Parameter {
  return fc.constantFrom(...names).map((name) => ({ kind: "ref", name }));
}

export function oneOf(...parameters: readonly Parameter[]): Parameter {
  return fc.oneof(...parameters);
}

export function listOf(item: Parameter): Parameter {
  return fc.array(given(item), { maxLength: 3 }).map((items) => ({ kind: "list", items }));
}

/** Some of these options, and sometimes an unknown one. `always` are never omitted, and `exact` are as they are besides. */
export function options(
  known: Readonly<Record<string, Parameter>>,
  always: Readonly<Record<string, Parameter>> = {},
  exact: Readonly<Record<string, Parameter>> = {},
): Parameter {
  // Few at a time: with all of them, hardly any call would have no invalid option.
  const fields = fc
    .record(
      Object.fromEntries(Object.entries(known).map(([name, each]) => [name, fc.option(given(each), { freq: 1 })])),
    )
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, each]) => each !== null))) as fc.Arbitrary<
    Record<string, Recipe>
  >;
  const needed = fc.record(
    Object.fromEntries(
      Object.entries(always).map(([name, each]) => [
        name,
        fc.oneof({ weight: 9, arbitrary: each }, { weight: 1, arbitrary: nasty }),
      ]),
    ),
  ) as fc.Arbitrary<Record<string, Recipe>>;
  const unknown = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.dictionary(fc.constantFrom("idd", "timeOut", "__proto__", "", "constructor"), nasty, {
        maxKeys: 1,
      }),
    },
  ) as fc.Arbitrary<Record<string, Recipe>>;
  const wrapper = fc.oneof(
    { weight: 6, arbitrary: fc.constant("plain" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...WRAPPERS) },
  );
  return fc.tuple(fields, needed, fc.record({ ...exact }), unknown, wrapper).map(([some, all, same, extra, how]) => ({
    kind: "object",
    fields: { ...some, ...all, ...extra, ...same },
    wrapper: how,
  }));
}

/** A value of any type, as inputs and messages have them. */
export const anything: Parameter = oneOf(data("a", 1, true, null), nasty, options({ id: data("o-1"), n: data(1) }));

/** Builds the value. `refs` has the things of the fuzzed world. */
export function build(recipe: Recipe, refs: Readonly<Record<string, () => unknown>>): unknown {
  switch (recipe.kind) {
    case "nasty":
      return NASTY[recipe.name]();
    case "data":
      return recipe.value;
    case "ref": {
      const make = refs[recipe.name];
      if (make === undefined) throw new Error(`the fuzzed world has no ${recipe.name}`);
      return make();
    }
    case "list":
      return recipe.items.map((item) => build(item, refs));
    case "object": {
      const fields = Object.entries(recipe.fields).map(([name, field]) => [name, build(field, refs)] as const);
      return wrapped(fields, recipe.wrapper);
    }
  }
}

function wrapped(fields: readonly (readonly [string, unknown])[], wrapper: Wrapper): unknown {
  const plain = Object.fromEntries(fields);
  switch (wrapper) {
    case "plain":
      return plain;
    case "no prototype":
      return Object.assign(Object.create(null) as object, plain);
    case "inherited":
      return Object.create(plain) as object;
    case "frozen":
      return Object.freeze(plain);
    case "getters":
      return withGetters(fields, (value) => () => value);
    case "proxy":
      return new Proxy(plain, {});
    case "unstable getters":
      return withGetters(fields, (value) => {
        let reads = 0;
        return () => {
          reads += 1;
          return reads === 1 ? value : Symbol("second read");
        };
      });
  }
}

function withGetters(
  fields: readonly (readonly [string, unknown])[],
  getter: (value: unknown) => () => unknown,
): object {
  const object = {};
  for (const [name, value] of fields)
    Object.defineProperty(object, name, { enumerable: true, configurable: true, get: getter(value) });
  return object;
}
