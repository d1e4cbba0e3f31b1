/**
 * Checks values against a JSON schema: the part of the standard that forms need. A schema comes from a model, so none of it is
 * executed; deployment rejects a keyword that is not supported.
 */

/** The path in the value, and what is wrong there. */
export interface SchemaProblem {
  readonly path: string;
  readonly text: string;
}

type Schema = boolean | Readonly<Record<string, unknown>>;

const ANNOTATIONS: ReadonlySet<string> = new Set(
  "$schema $id $comment title description default examples deprecated readOnly writeOnly definitions $defs enumNames".split(
    " ",
  ),
);
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "type enum const required properties additionalProperties minProperties maxProperties items minItems maxItems " +
    "uniqueItems minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "allOf anyOf oneOf not if then else $ref"
  ).split(" "),
);
const FORMATS: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
  time: /^\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
  email: /^[^\s@]{1,64}@[^\s@]{1,255}$/,
  uri: /^[a-zA-Z][a-zA-Z0-9+.-]*:\S{1,2000}$/,
  uuid: /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
};
const DEPTH_MAX = 50;
const PROBLEMS_MAX = 50;
/** Longer texts are not matched: some patterns take exponential time on long texts. */
const PATTERN_TEXT_MAX = 1_000;

/** Returns why a schema cannot be used. Empty if it can. */
export function flawsOfSchema(schema: unknown, path = "", depth = 0): readonly SchemaProblem[] {
  const problem = (text: string): readonly SchemaProblem[] => [{ path, text }];
  if (typeof schema === "boolean") return [];
  if (!isRecord(schema)) return problem("a schema must be an object, true or false");
  if (depth > DEPTH_MAX) return problem("the schema is nested too deep");
  return Object.entries(schema).flatMap(([keyword, value]): readonly SchemaProblem[] => {
    const at = `${path}/${keyword}`;
    if (!KEYWORDS.has(keyword) && !ANNOTATIONS.has(keyword))
      return [{ path: at, text: `keyword ${keyword} is not supported` }];
    if (keyword === "pattern" && !isPattern(value))
      return [{ path: at, text: "the pattern is not a valid regular expression" }];
    if (keyword === "format" && !Object.hasOwn(FORMATS, String(value))) {
      return [{ path: at, text: `format ${String(value)} is not supported; use ${Object.keys(FORMATS).join(", ")}` }];
    }
    return innerSchemas(keyword, value).flatMap(([name, inner]) => flawsOfSchema(inner, at + name, depth + 1));
  });
}

function innerSchemas(keyword: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (["properties", "$defs", "definitions"].includes(keyword) && isRecord(value)) {
    return Object.entries(value).map(([name, inner]) => [`/${name}`, inner]);
  }
  if (["allOf", "anyOf", "oneOf"].includes(keyword) && Array.isArray(value)) {
    return value.map((inner, index) => [`/${index}`, inner]);
  }
  return ["additionalProperties", "items", "not", "if", "then", "else"].includes(keyword) ? [["", value]] : [];
}

/** Returns what is wrong with a value. Empty if it is valid. */
export function problemsIn(schema: unknown, value: unknown): readonly SchemaProblem[] {
  return check({ root: schema as Schema }, schema as Schema, value, "", 0).slice(0, PROBLEMS_MAX);
}

interface Checking {
  readonly root: Schema;
}

function check(of: Checking, schema: Schema, value: unknown, path: string, depth: number): readonly SchemaProblem[] {
  if (typeof schema === "boolean") return schema ? [] : [{ path, text: "is not allowed" }];
  if (depth > DEPTH_MAX) return [{ path, text: "is nested too deep" }];
  const inner = (each: unknown, held: unknown, at: string) => check(of, each as Schema, held, at, depth + 1);
  const texts = [...general(schema, value), ...numeric(schema, value), ...textual(schema, value)];
  return [
    ...texts.map((text) => ({ path, text })),
    ...combined(of, schema, (each) => inner(each, value, path), path),
    ...(isRecord(value) ? ofObject(schema, value, path, inner) : []),
    ...(Array.isArray(value) ? ofList(schema, value, path, inner) : []),
  ];
}

type Inner = (schema: unknown, value: unknown, path: string) => readonly SchemaProblem[];
type Keywords = Readonly<Record<string, unknown>>;

function general({ type, enum: allowed, const: only }: Keywords, value: unknown): readonly string[] {
  const texts: string[] = [];
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  if (types.length > 0 && !types.some((each) => isOfType(value, String(each))))
    texts.push(`must be ${types.join(" or ")}`);
  if (Array.isArray(allowed) && !allowed.some((each) => isEqual(each, value))) {
    texts.push(`must be one of ${JSON.stringify(allowed).slice(0, 200)}`);
  }
  if (only !== undefined && !isEqual(only, value)) texts.push(`must be ${JSON.stringify(only)}`);
  return texts;
}

function numeric(schema: Keywords, value: unknown): readonly string[] {
  if (typeof value !== "number") return [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Readonly<
    Record<string, number>
  >;
  const texts: string[] = [];
  if (minimum !== undefined && value < minimum) texts.push(`must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum) texts.push(`must be at most ${maximum}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) texts.push(`must be above ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) texts.push(`must be below ${exclusiveMaximum}`);
  if (multipleOf !== undefined && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9) {
    texts.push(`must be a multiple of ${multipleOf}`);
  }
  return texts;
}

function textual({ minLength, maxLength, pattern, format }: Keywords, value: unknown): readonly string[] {
  if (typeof value !== "string") return [];
  const texts: string[] = [];
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength) texts.push(`must have at least ${minLength} characters`);
  if (typeof maxLength === "number" && length > maxLength) texts.push(`must have at most ${maxLength} characters`);
  if (typeof pattern === "string") {
    if (length > PATTERN_TEXT_MAX) texts.push(`must have at most ${PATTERN_TEXT_MAX} characters`);
    else if (!new RegExp(pattern, "u").test(value)) texts.push(`must match ${pattern}`);
  }
  if (typeof format === "string" && FORMATS[format]?.test(value) === false) texts.push(`must be a valid ${format}`);
  return texts;
}

function combined(
  of: Checking,
  schema: Keywords,
  inner: (schema: unknown) => readonly SchemaProblem[],
  path: string,
): readonly SchemaProblem[] {
  const { allOf, anyOf, oneOf, not, $ref } = schema as Readonly<Record<string, readonly unknown[] | undefined>>;
  const problems: SchemaProblem[] = [];
  if (typeof $ref === "string") problems.push(...inner(referred(of.root, $ref)));
  for (const each of allOf ?? []) problems.push(...inner(each));
  const fitting = (list: readonly unknown[]): number => list.filter((each) => inner(each).length === 0).length;
  if (anyOf !== undefined && fitting(anyOf) === 0)
    problems.push({ path, text: "must match at least one schema of anyOf" });
  if (oneOf !== undefined && fitting(oneOf) !== 1)
    problems.push({ path, text: "must match exactly one schema of oneOf" });
  if (not !== undefined && inner(not).length === 0) problems.push({ path, text: "must not match the schema of not" });
  if (schema.if !== undefined) {
    const then = inner(schema.if).length === 0 ? schema.then : schema.else;
    if (then !== undefined) problems.push(...inner(then));
  }
  return problems;
}

function ofObject(schema: Keywords, value: Keywords, path: string, inner: Inner): readonly SchemaProblem[] {
  const { required, properties, additionalProperties, minProperties, maxProperties } = schema;
  const problems: SchemaProblem[] = [];
  for (const name of Array.isArray(required) ? required : []) {
    if (!Object.hasOwn(value, String(name))) problems.push({ path: `${path}/${String(name)}`, text: "is required" });
  }
  const known = isRecord(properties) ? properties : {};
  const names = Object.keys(value);
  if (typeof minProperties === "number" && names.length < minProperties)
    problems.push({ path, text: "has too few properties" });
  if (typeof maxProperties === "number" && names.length > maxProperties)
    problems.push({ path, text: "has too many properties" });
  for (const name of names) {
    const at = `${path}/${name}`;
    if (Object.hasOwn(known, name)) problems.push(...inner(known[name], value[name], at));
    else if (additionalProperties === false) problems.push({ path: at, text: "is not a known property" });
    else if (additionalProperties !== undefined) problems.push(...inner(additionalProperties, value[name], at));
  }
  return problems;
}

function ofList(schema: Keywords, value: readonly unknown[], path: string, inner: Inner): readonly SchemaProblem[] {
  const { items, minItems, maxItems, uniqueItems } = schema;
  const problems: SchemaProblem[] = [];
  if (typeof minItems === "number" && value.length < minItems)
    problems.push({ path, text: `must have at least ${minItems} items` });
  if (typeof maxItems === "number" && value.length > maxItems)
    problems.push({ path, text: `must have at most ${maxItems} items` });
  if (uniqueItems === true && new Set(value.map((each) => JSON.stringify(each))).size < value.length) {
    problems.push({ path, text: "must not contain duplicates" });
  }
  if (items !== undefined) problems.push(...value.flatMap((each, index) => inner(items, each, `${path}/${index}`)));
  return problems;
}

/** References to other documents are not followed. */
function referred(root: Schema, reference: string): unknown {
  let found: unknown = root;
  for (const part of reference.replace(/^#\/?/, "").split("/")) {
    if (part !== "") found = isRecord(found) && Object.hasOwn(found, part) ? found[part] : undefined;
  }
  return reference.startsWith("#") && found !== undefined ? found : false;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value);
  return typeof value === type;
}

function isEqual(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") !== null;
  } catch {
    return false;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
