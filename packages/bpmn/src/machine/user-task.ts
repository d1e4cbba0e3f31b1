import { humanTaskOf, type TaskFacts, type TaskForm } from "../model/human-task.ts";
import { priorityNumber } from "../model/priority.ts";
import type { ActivityElement, Expression } from "../model/process.ts";
import { firstDue, parseTimer } from "../model/timer.ts";
import type { StartActivity } from "./activities.ts";
import type { Command, Row } from "./state.ts";
import { throwEscalation } from "./throw-events.ts";
import { evaluate } from "./variables.ts";
import { IncidentError, issue, newRowLocation, releaseRow, type WorkingState } from "./working-state.ts";

const OVERDUE_ESCALATION = "overdue";

/** Creates a human task, with a timer for its due date. */
export const createTask: StartActivity = (state, row, element) => {
  const facts = factsOf(state, row, element);
  const location = newRowLocation(row, "task");
  issue(state, { kind: "task", location, row: row.id, facts });
  const { dueAt } = facts;
  if (dueAt !== null)
    issue(state, { kind: "due", location: newRowLocation(row, "due"), row: row.id, task: location, dueAt });
};

/** Emits the overdue event and throws an escalation. The task stays open unless the escalation interrupts it. */
export function handleOverdue(state: WorkingState, { row: id, task: of }: Extract<Command, { kind: "due" }>): void {
  const row = state.rows.get(id);
  if (row === undefined) return;
  issue(state, { kind: "overdue", location: newRowLocation(row, "overdue"), task: of });
  if (throwEscalation(state, row, OVERDUE_ESCALATION, {}) === "interrupted") releaseRow(state, row.id);
}

function factsOf(state: WorkingState, row: Row, element: ActivityElement): TaskFacts {
  const settings = humanTaskOf(element);
  const value = (expression: Expression | null): unknown =>
    expression === null ? null : (evaluate(state, row, expression) ?? null);
  const text = (expression: Expression | null): string | null => {
    const found = value(expression);
    return found === null || found === "" ? null : typeof found === "object" ? JSON.stringify(found) : String(found);
  };
  return {
    name: element.name,
    description: text(settings.description),
    assignee: text(settings.assignee),
    candidateUsers: listOf(value(settings.candidateUsers)),
    candidateGroups: listOf(value(settings.candidateGroups)),
    form: formOf(text(settings.formId), settings, value),
    priority: priorityOf(value(settings.priority)),
    dueAt: momentOf(state, element, "due date", value(settings.due)),
    followUpAt: momentOf(state, element, "follow-up date", value(settings.followUp)),
  };
}

type FormSettings = Pick<ReturnType<typeof humanTaskOf>, "formSchema" | "formBinding" | "formDefaults">;

function formOf(
  id: string | null,
  { formSchema, formBinding, formDefaults }: FormSettings,
  value: (expression: Expression) => unknown,
): TaskForm | null {
  if (formSchema === null)
    return id === null ? null : { kind: "id", id, ...(formBinding !== null && { binding: formBinding }) };
  const schema = JSON.parse(formSchema) as { readonly properties?: Record<string, object> };
  if (formDefaults.length === 0) return { kind: "schema", schema };
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const source = formDefaults.find(({ target }) => target === name)?.source;
    const computed = source === undefined ? null : value(source);
    return [name, computed === null ? field : { ...field, default: computed }] as const;
  });
  return { kind: "schema", schema: { ...schema, properties: Object.fromEntries(properties) } };
}

/** Accepts a list, or text separated by commas. */
function listOf(value: unknown): readonly string[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.map(String);
  const text = String(value).trim();
  if (text.startsWith("[")) {
    try {
      return (JSON.parse(text) as unknown[]).map(String);
    } catch {
      throw new IncidentError("invalid", `"${text}" is not a list of candidates`);
    }
  }
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function priorityOf(value: unknown): number | null {
  if (value === null) return null;
  const priority = priorityNumber(value);
  if (!Number.isFinite(priority))
    throw new IncidentError("invalid", `"${String(value)}" is not a priority; use a number`);
  return priority;
}

/** Accepts a date, a duration from now, or epoch milliseconds. */
function momentOf(state: WorkingState, { id }: ActivityElement, setting: string, value: unknown): number | null {
  if (value === null || value === "") return null;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const text = String(value).trim();
  const timer = parseTimer(text.startsWith("P") ? "duration" : "date", text);
  const due = timer === null ? null : firstDue(timer, state.at);
  if (due === null)
    throw new IncidentError("invalid", `the ${setting} of ${id} is "${text}", which is neither a date nor a duration`);
  return due.at;
}
