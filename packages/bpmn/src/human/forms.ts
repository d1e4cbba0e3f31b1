import { kinds, PawlError } from "pawl";
import type { Variables } from "../machine/state.ts";
import type { TaskForm } from "../model/human-task.ts";
import { flawsOfSchema, problemsIn, type SchemaProblem } from "./json-schema.ts";

/** JSON schemas by form id. */
export type Forms = Readonly<Record<string, unknown>>;

/** The kind of forms. Schemas are data. */
export const FORMS = kinds.variables;

/**
 * The variables of a completed form: those given, and the default values of missing ones. Throws `FORM_INVALID` if they do not match
 * the form. A form without a known schema is not checked.
 */
export function checkForm(id: string, form: TaskForm | null, forms: Forms, given: Variables): Variables {
  const schema = form?.kind === "id" ? forms[form.id] : form?.schema;
  return schema === undefined ? given : checkValues(`cannot complete task ${id}`, schema, given);
}

/** The values with the defaults of a schema. Throws `FORM_INVALID` if they do not match it. */
export function checkValues(refusal: string, schema: unknown, given: Variables): Variables {
  const variables = withDefaults(schema, given);
  const problems = problemsIn(schema, variables);
  if (problems.length === 0) return variables;
  throw Object.assign(new PawlError("FORM_INVALID", `${refusal}: ${textOfProblems(problems)}`), { problems });
}

export function textOfProblems(problems: readonly SchemaProblem[]): string {
  return problems.map(({ path, text }) => `${path === "" ? "form" : path.slice(1)}: ${text}`).join("; ");
}

/** Adds the default value of each property of the schema that is missing. */
function withDefaults(schema: unknown, variables: Variables): Variables {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  const missing = Object.entries(properties).flatMap(([name, field]) => {
    const isMissing = !Object.hasOwn(variables, name) && typeof field === "object" && field !== null;
    return isMissing && "default" in field ? [[name, field.default] as const] : [];
  });
  return missing.length === 0 ? variables : Object.fromEntries([...Object.entries(variables), ...missing]);
}

/** Rejects schemas with unsupported keywords. */
export function checkForms(forms: Forms): void {
  for (const [id, schema] of Object.entries(forms)) {
    const [flaw] = flawsOfSchema(schema);
    if (flaw !== undefined) throw new PawlError("OPTION_INVALID", `form ${id}: ${flaw.path} ${flaw.text}`);
  }
}

/** Returns what is wrong with a schema in JSON text. */
export function flawsOfText(text: string): readonly SchemaProblem[] {
  try {
    return flawsOfSchema(JSON.parse(text));
  } catch {
    return [{ path: "", text: "not valid JSON" }];
  }
}
