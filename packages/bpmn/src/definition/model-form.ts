import { readCamundaForm } from "../human/camunda-form.ts";
import { type Mapping, type ModelForm, textOrComputed } from "../model/process.ts";
import { parseTimer } from "../model/timer.ts";
import { type Model, modelIn, modelsIn, textIn } from "./moddle.ts";

/** A form in a model, with what of it is not executed or wrong. */
export interface ReadForm {
  readonly form: ModelForm;
  readonly ignored: readonly string[];
  readonly problems: readonly string[];
}

/** Where the key of a form in the same document begins. */
const EMBEDDED = "camunda-forms:bpmn:";

/** The forms that a process contains (`zeebe:userTaskForm`), as text by id. */
export function embeddedForms(processes: readonly Model[]): ReadonlyMap<string, string> {
  const forms = new Map<string, string>();
  for (const form of processes.flatMap(extensionsIn).filter((each) => nameOf(each) === "userTaskForm"))
    forms.set(textIn(form, "id") ?? "", form.$body ?? "");
  return forms;
}

/** The form of a user task or a start event, if the model contains it. Null if it has none, or refers to one by its id. */
export function modelFormOf(model: Model, embedded: ReadonlyMap<string, string>): ReadForm | null {
  const extensions = extensionsIn(model);
  const data = extensions.find((each) => nameOf(each) === "formData");
  if (data !== undefined) return formOfFields(data);
  const own = extensions.find((each) => nameOf(each) === "form");
  if (own !== undefined) return formOfSchema(own);
  const definition = extensions.find((each) => nameOf(each) === "formDefinition");
  const key = textIn(definition ?? null, "formKey");
  return key?.startsWith(EMBEDDED) === true ? formOfText(key.slice(EMBEDDED.length), embedded) : null;
}

/** Reads `pawl:form`: a JSON schema, and default values that are expressions. */
function formOfSchema(form: Model): ReadForm {
  const schema = textIn(form, "schema") ?? "{}";
  const defaults = childrenOf(form, "default").map((each): Mapping => {
    return { source: textOrComputed(each.$body ?? ""), target: textIn(each, "name") ?? "" };
  });
  return { form: { schema, defaults }, ignored: [], problems: [] };
}

function formOfText(id: string, embedded: ReadonlyMap<string, string>): ReadForm {
  const problem = (text: string): ReadForm => ({
    form: { schema: "{}", defaults: [] },
    ignored: [],
    problems: [`form ${id} ${text}`],
  });
  const text = embedded.get(id);
  if (text === undefined) return problem("is not in the process; add it, or correct the formKey");
  const form = parsed(text);
  if (form === undefined) return problem("is not valid JSON; correct it");
  const read = readCamundaForm(form);
  if (typeof read === "string") return problem(`cannot be used: ${read}`);
  return {
    form: { schema: JSON.stringify(read.schema), defaults: [] },
    ignored: read.ignored.map((setting) => `form field ${setting}`),
    problems: [],
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const TYPES: Readonly<Record<string, object>> = {
  string: { type: "string" },
  long: { type: "integer" },
  boolean: { type: "boolean" },
  date: { type: "string", format: "date" },
  enum: { type: "string" },
};

/** The constraints of form fields that are checked, as keywords of a schema. */
const LIMITS: Readonly<Record<string, string>> = {
  min: "minimum",
  max: "maximum",
  minlength: "minLength",
  maxlength: "maxLength",
};

/** Reads the fields of `camunda:formData`. */
function formOfFields(data: Model): ReadForm {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const defaults: Mapping[] = [];
  const ignored: string[] = [];
  const problems: string[] = [];
  for (const field of childrenOf(data, "formField")) {
    const id = textIn(field, "id");
    if (id === null) {
      problems.push("a form field has no id; add one");
      continue;
    }
    const rules = rulesOf(field, id, ignored);
    const { fixed, computed } = defaultOf(field, problems);
    const schema = { ...schemaOf(field), ...rules.keywords, ...(fixed !== undefined && { default: fixed }) };
    Object.defineProperty(properties, id, { value: schema, enumerable: true, configurable: true });
    if (rules.isRequired) required.push(id);
    if (computed !== null) defaults.push({ source: computed, target: id });
  }
  const schema = { type: "object", properties, ...(required.length > 0 && { required }) };
  return { form: { schema: JSON.stringify(schema), defaults }, ignored, problems };
}

function schemaOf(field: Model): object {
  const label = textIn(field, "label");
  const type = textIn(field, "type") ?? "string";
  const values = childrenOf(field, "value");
  const ids = values.map((value) => textIn(value, "id") ?? "");
  const names = values.map((value) => textIn(value, "name") ?? textIn(value, "id") ?? "");
  return {
    ...TYPES[type],
    ...(label !== null && { title: label }),
    ...(type === "enum" && { enum: ids, enumNames: names }),
  };
}

function rulesOf(field: Model, id: string, ignored: string[]) {
  const keywords: Record<string, unknown> = {};
  let isRequired = false;
  for (const constraint of childrenOf(field, "validation").flatMap((each) => childrenOf(each, "constraint"))) {
    const name = textIn(constraint, "name") ?? "";
    const config = textIn(constraint, "config");
    const keyword = LIMITS[name];
    const limit = config === null ? Number.NaN : Number(config);
    if (name === "required") isRequired = config !== "false";
    else if (name === "readonly") keywords.readOnly = config !== "false";
    else if (keyword !== undefined && Number.isFinite(limit)) keywords[keyword] = limit;
    else ignored.push(`form field ${id} ${name}`);
  }
  return { keywords, isRequired };
}

/** The default value of a field, converted to its type, or an expression that is evaluated when the task is created. */
function defaultOf(field: Model, problems: string[]) {
  const text = textIn(field, "defaultValue");
  const none = { fixed: undefined, computed: null };
  if (text === null) return none;
  const expression = textOrComputed(text);
  if (!expression.isStatic) return { fixed: undefined, computed: expression };
  const type = textIn(field, "type") ?? "string";
  const fixed = converted(type, text.trim());
  if (fixed === undefined) {
    problems.push(`the default of form field ${textIn(field, "id")} is "${text}", which is not a ${type}; correct it`);
  }
  return { fixed, computed: null };
}

/** A day before a month, as Camunda writes dates. */
const DAY_FIRST = /^(\d{2})\/(\d{2})\/(\d{4})$/;

function converted(type: string, text: string): unknown {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (type === "long") return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (type !== "date") return text;
  const iso = text.replace(DAY_FIRST, "$3-$2-$1");
  return parseTimer("date", iso) === null || iso.includes("T") ? undefined : iso;
}

function extensionsIn(model: Model): readonly Model[] {
  return modelsIn(modelIn(model, "extensionElements"), "values");
}

function childrenOf(model: Model, name: string): readonly Model[] {
  return (model.$children ?? []).filter((child) => nameOf(child) === name);
}

function nameOf({ $type }: Model): string {
  return $type.slice($type.indexOf(":") + 1);
}
