import { PawlError } from "pawl";
import type { Variables } from "../machine/state.ts";
import { flawsOfSchema } from "./json-schema.ts";
import type { TaskBody } from "./task-body.ts";

/** A task that is none of a process. */
export interface NewTask {
  readonly name: string;
  /** The same id again is refused. Default: a fresh one. */
  readonly id?: string;
  readonly description?: string;
  readonly assignee?: string;
  /** The id of a form, or a JSON schema. */
  readonly form?: string | { readonly schema: unknown };
  readonly priority?: number;
  readonly variables?: Variables;
  /** A run that waits for its end gets this message, with `{ task, state, variables }`. */
  readonly tell?: { readonly runId: string; readonly message: string };
}

const ID_MAX = 300;

export function checkNewTask(task: NewTask, { at, id }: { readonly at: number; readonly id: string }): TaskBody {
  const { name, description = null, assignee = null, form, priority = null, variables = {}, tell = null } = task;
  if (typeof name !== "string" || name.trim() === "") throw invalid("the task has no name; give it one");
  if (typeof id !== "string" || id === "" || id.length > ID_MAX) {
    throw invalid(`the id of a task has 1 to ${ID_MAX} characters`);
  }
  if (priority !== null && !Number.isFinite(priority)) throw invalid(`the priority is ${priority}; give a number`);
  const [flaw] = typeof form === "object" ? flawsOfSchema(form.schema) : [];
  if (flaw !== undefined) throw invalid(`the form of task ${id}: ${flaw.path} ${flaw.text}`);
  return {
    id,
    run: null,
    tell,
    name,
    description,
    form: form === undefined ? null : typeof form === "string" ? { kind: "id", id: form } : { kind: "schema", ...form },
    priority,
    candidateUsers: [],
    candidateGroups: [],
    createdAt: at,
    dueAt: null,
    followUpAt: null,
    variables,
    assignee,
    owner: null,
    completion: null,
    comments: [],
    history: [{ kind: "created", id: `created ${id} ${at}`, at, by: null, to: assignee, why: null }],
  };
}

function invalid(text: string): PawlError {
  return new PawlError("OPTION_INVALID", `${text}; nothing was created`);
}
