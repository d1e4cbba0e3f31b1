import { type Binding, type Element, type Expression, type Mapping, textOrComputed } from "./process.ts";

/** The human task settings of a model, before evaluation. */
interface HumanTaskSettings {
  readonly description: Expression | null;
  readonly assignee: Expression | null;
  readonly candidateUsers: Expression | null;
  readonly candidateGroups: Expression | null;
  readonly priority: Expression | null;
  readonly due: Expression | null;
  readonly followUp: Expression | null;
  readonly formId: Expression | null;
  /** A JSON schema, as text. */
  readonly formSchema: string | null;
  readonly formBinding: Binding | null;
  /** Default values of its properties that are computed. */
  readonly formDefaults: readonly Mapping[];
}

/** A form: a reference by id, or a JSON schema. */
export type TaskForm =
  | { readonly kind: "id"; readonly id: string; readonly binding?: Binding }
  | { readonly kind: "schema"; readonly schema: unknown };

/** The evaluated settings of a task, computed when it is created. */
export interface TaskFacts {
  readonly name: string | null;
  readonly description: string | null;
  readonly assignee: string | null;
  readonly candidateUsers: readonly string[];
  readonly candidateGroups: readonly string[];
  readonly form: TaskForm | null;
  readonly priority: number | null;
  readonly dueAt: number | null;
  readonly followUpAt: number | null;
}

/** The property names of the settings, in models of common modelers and in graphs. */
const NAMES = {
  description: ["description", "documentation"],
  assignee: ["assignmentDefinition.assignee", "assignee"],
  candidateUsers: ["assignmentDefinition.candidateUsers", "candidateUsers"],
  candidateGroups: ["assignmentDefinition.candidateGroups", "candidateGroups"],
  priority: ["priorityDefinition.priority", "priority"],
  due: ["taskSchedule.dueDate", "dueDate"],
  followUp: ["taskSchedule.followUpDate", "followUpDate"],
  formId: ["formDefinition.formId", "formDefinition.formKey", "formId", "formRef", "formKey"],
  formSchema: ["formSchema"],
} as const;

const settings = new WeakMap<Element, HumanTaskSettings>();

export function humanTaskOf(element: Element): HumanTaskSettings {
  const known = settings.get(element);
  if (known !== undefined) return known;
  const made = read(element);
  settings.set(element, made);
  return made;
}

const inputSchemas = new WeakMap<Element, unknown>();

/** The JSON schema of the variables that an element requires, in its property `inputSchema`. Null if it has none. */
export function inputSchemaOf(element: Element): unknown {
  const { inputSchema } = element.properties;
  if (inputSchema === undefined) return null;
  if (!inputSchemas.has(element)) inputSchemas.set(element, JSON.parse(inputSchema));
  return inputSchemas.get(element);
}

function read(element: Element): HumanTaskSettings {
  const { properties } = element;
  const form = "form" in element ? element.form : undefined;
  const text = (names: readonly string[]): string | null => {
    const name = names.find((each) => (properties[each] ?? "").trim() !== "");
    return name === undefined ? null : (properties[name] ?? null);
  };
  const value = (names: readonly string[]): Expression | null => {
    const found = text(names);
    return found === null ? null : textOrComputed(found);
  };
  return {
    description: value(NAMES.description),
    assignee: value(NAMES.assignee),
    candidateUsers: value(NAMES.candidateUsers),
    candidateGroups: value(NAMES.candidateGroups),
    priority: value(NAMES.priority),
    due: value(NAMES.due),
    followUp: value(NAMES.followUp),
    formId: value(NAMES.formId),
    formSchema: form?.schema ?? text(NAMES.formSchema),
    formBinding: ("binding" in element ? element.binding : undefined) ?? null,
    formDefaults: form?.defaults ?? [],
  };
}
