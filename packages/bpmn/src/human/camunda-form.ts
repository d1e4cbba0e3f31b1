/**
 * Forms of Camunda, as form-js saves them, as JSON schemas: types, required fields, validation, choices and default values. What a
 * schema cannot express, such as a limit that is an expression, is listed.
 */

export interface ConvertedForm {
  readonly id: string | null;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Settings that are not checked, such as `amount max`. */
  readonly ignored: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

interface ObjectSchema {
  readonly type: "object";
  readonly properties: Record<string, unknown>;
  required?: string[];
}

const DEPTH_MAX = 20;
/** Components without a value. */
const SILENT: ReadonlySet<string> = new Set(
  "text html image spacer separator button table iframe documentPreview".split(" "),
);

/** Returns the form, or why the value is not one. */
export function readCamundaForm(form: unknown): ConvertedForm | string {
  if (!isRecord(form) || !Array.isArray(form.components)) return "a form must be an object with components";
  const schema: ObjectSchema = { type: "object", properties: {} };
  const ignored: string[] = [];
  const flaw = addComponents(schema, form.components, ignored, 0);
  return flaw ?? { id: typeof form.id === "string" ? form.id : null, schema: { ...schema }, ignored };
}

/** The JSON schema of a deployed form. */
export function schemaOfForm(text: string): unknown {
  const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(value.components)) return value;
  const read = readCamundaForm(value);
  return typeof read === "string" ? true : read.schema;
}

function addComponents(schema: ObjectSchema, given: unknown, ignored: string[], depth: number): string | null {
  if (!Array.isArray(given)) return "the components of a form must be a list";
  if (depth > DEPTH_MAX) return "the form is nested too deep";
  for (const component of given) {
    if (!isRecord(component)) return "a component of a form must be an object";
    const flaw = addComponent(schema, component, ignored, depth);
    if (flaw !== null) return flaw;
  }
  return null;
}

function addComponent(schema: ObjectSchema, component: Json, ignored: string[], depth: number): string | null {
  const { type, key, path, components } = component;
  if (type === "group") {
    const into = typeof path === "string" && path !== "" ? objectAt(schema, path.split(".")) : schema;
    return addComponents(into, components ?? [], ignored, depth + 1);
  }
  if (type === "dynamiclist") {
    const items: ObjectSchema = { type: "object", properties: {} };
    if (typeof path !== "string" || path === "") return "a dynamic list of a form needs a path";
    put(schema, path, { type: ["array", "null"], items });
    return addComponents(items, components ?? [], ignored, depth + 1);
  }
  if (SILENT.has(String(type)) || typeof key !== "string" || key === "") return null;
  const field = fieldOf(component, key, ignored);
  put(schema, key, field);
  // A field that may be hidden may have no value.
  if (validationOf(component).required === true && component.conditional === undefined) require(schema, key);
  return null;
}

function validationOf({ validate }: Json): Json {
  return isRecord(validate) ? validate : {};
}

/** Declares a field whose key may be a path. */
function put(schema: ObjectSchema, key: string, field: unknown): void {
  const names = key.split(".");
  const last = names.pop() ?? "";
  define(objectAt(schema, names).properties, last, field);
}

function require(schema: ObjectSchema, key: string): void {
  const names = key.split(".");
  let at = schema;
  for (const [index, name] of names.entries()) {
    at.required = [...new Set([...(at.required ?? []), name])];
    if (index < names.length - 1) at = objectAt(at, [name]);
  }
}

function objectAt(schema: ObjectSchema, names: readonly string[]): ObjectSchema {
  let at = schema;
  for (const name of names) {
    const inner = Object.hasOwn(at.properties, name) ? at.properties[name] : undefined;
    const next: ObjectSchema = isObjectSchema(inner) ? inner : { type: "object", properties: {} };
    if (next !== inner) define(at.properties, name, next);
    at = next;
  }
  return at;
}

function isObjectSchema(value: unknown): value is ObjectSchema {
  return isRecord(value) && value.type === "object" && isRecord(value.properties);
}

/** Defines `__proto__` as a plain property. */
function define(properties: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(properties, name, { value, writable: true, enumerable: true, configurable: true });
}

function fieldOf(component: Json, key: string, ignored: string[]): Json {
  const { label, defaultValue, readonly, disabled } = component;
  const isRequired = validationOf(component).required === true;
  const noted = {
    ...(typeof label === "string" && { title: label }),
    ...(defaultValue !== undefined && defaultValue !== null && { default: defaultValue }),
    ...((readonly === true || disabled === true) && { readOnly: true }),
  };
  for (const [name, value] of Object.entries({ readonly, ...validationOf(component) }))
    if (typeof value === "string" && value.startsWith("=")) ignored.push(`${key} ${name}`);
  return { ...valueSchema(component, isRequired), ...noted };
}

/** The schema of a value. A field that is not required may be empty: null, or an empty text. */
function valueSchema(component: Json, isRequired: boolean): Json {
  const typed = (type: string) => ({ type: isRequired ? type : [type, "null"] });
  switch (component.type) {
    case "textfield":
    case "textarea":
      return { ...typed("string"), ...textRules(validationOf(component), isRequired) };
    case "number":
      return numberSchema(component, typed);
    case "checkbox":
      return isRequired ? { type: "boolean", const: true } : typed("boolean");
    case "datetime":
      return component.subtype === "date" || component.subtype === undefined
        ? { ...typed("string"), format: "date" }
        : typed("string");
    case "radio":
    case "select": {
      const values = choicesOf(component);
      return values === null ? {} : { enum: isRequired ? values : [...values, null] };
    }
    case "checklist":
    case "taglist": {
      const values = choicesOf(component);
      return {
        ...typed("array"),
        ...(values !== null && { items: { enum: values } }),
        ...(isRequired && { minItems: 1 }),
      };
    }
    default:
      return {};
  }
}

function numberSchema({ decimalDigits, serializeToString, ...rest }: Json, typed: (type: string) => Json): Json {
  if (serializeToString === true) return typed("string");
  const { min, max } = validationOf(rest);
  return {
    ...typed(decimalDigits === 0 ? "integer" : "number"),
    ...(typeof min === "number" && { minimum: min }),
    ...(typeof max === "number" && { maximum: max }),
  };
}

function textRules({ minLength, maxLength, pattern, validationType }: Json, isRequired: boolean): Json {
  const least = typeof minLength === "number" ? minLength : isRequired ? 1 : null;
  return {
    ...(least !== null && { minLength: least }),
    ...(typeof maxLength === "number" && { maxLength }),
    ...(typeof pattern === "string" && pattern !== "" && !pattern.startsWith("=") && { pattern }),
    ...(validationType === "email" && { format: "email" }),
  };
}

/** The values of a choice. Null if they are computed from variables. */
function choicesOf({ values }: Json): readonly unknown[] | null {
  if (!Array.isArray(values)) return null;
  return values.flatMap((each) => (isRecord(each) ? [each.value] : []));
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
