import { kinds, PawlError } from "pawl";
import type { Variables } from "../machine/state.ts";
import type { TaskForm } from "../model/human-task.ts";
import { flawsOfSchema, problemsIn, type SchemaProblem } from "./json-schema.ts";

/** JSON schemas by form id. */
export type Forms = Readonly<Record<string, unknown>>;

/** The kind of forms. Schemas are data. */
export const FORMS = kinds.variables;

/** Throws `FORM_INVALID` if the variables do not match the form. A form without a known schema is not checked. */
export function checkForm(id: string, form: TaskForm | null, forms: Forms, variables: Variables): void {
  const schema = form?.kind === "id" ? forms[form.id] : form?.schema;
  if (schema === undefined) return;
  const problems = problemsIn(schema, variables);
  if (problems.length === 0) return;
  const text = problems.map(({ path, text }) => `${path === "" ? "form" : path.slice(1)}: ${text}`).join("; ");
  throw Object.assign(new PawlError("FORM_INVALID", `cannot complete task ${id}: ${text}`), { problems });
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
