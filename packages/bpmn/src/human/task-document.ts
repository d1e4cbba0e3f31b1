import type { DocumentAttributes } from "pawl";
import type { Variables } from "../machine/state.ts";
import type { TaskForm } from "../model/human-task.ts";

export const TASK_KIND = "task";

/** The kind of documents that are search keys of tasks, such as candidates. A task may have several. */
export const TASK_KEY_KIND = "task key";

export type TaskState = "open" | "completed" | "cancelled";

export interface TaskComment {
  readonly at: number;
  readonly by: string | null;
  readonly text: string;
}

/** An action on a task. */
export interface TaskAction {
  readonly kind:
    | "created"
    | "assigned"
    | "claimed"
    | "released"
    | "delegated"
    | "commented"
    | "completed"
    | "cancelled";
  /** Identifies the call that performed it. */
  readonly id: string;
  readonly at: number;
  readonly by: string | null;
  /** The assignee after the action. */
  readonly to: string | null;
  readonly why: string | null;
}

/** The run that receives a message when a task ends. `since` identifies the question of a workflow: its time when it was asked. */
export interface TaskNotify {
  readonly runId: string;
  readonly message: string;
  readonly since?: number;
}

/** A task outside of processes. */
export interface NewTask {
  readonly name: string;
  /** An existing id is rejected. Default: a unique id. */
  readonly id?: string;
  readonly description?: string;
  readonly assignee?: string;
  /** The id of a form, or a JSON schema. */
  readonly form?: string | { readonly schema: unknown };
  readonly priority?: number;
  /** Who can claim it. Anyone if there is neither. */
  readonly candidateUsers?: readonly string[];
  readonly candidateGroups?: readonly string[];
  /** Epoch milliseconds. */
  readonly dueAt?: number;
  readonly followUpAt?: number;
  readonly tags?: readonly string[];
  readonly variables?: Variables;
  /** The run that receives `message` with `{ task, state, variables }` when the task ends. */
  readonly notify?: { readonly runId: string; readonly message: string };
}

/** A human task as stored in its document. */
export interface TaskDocument {
  readonly id: string;
  /** The process run and element of the task. Null outside of processes. */
  readonly run: {
    readonly id: string;
    readonly process: string;
    readonly version: number;
    readonly element: string;
    readonly location: string;
    readonly row: number;
  } | null;
  /** The run to notify of the end of a task outside of processes, and the message. */
  readonly notify: TaskNotify | null;
  readonly name: string;
  readonly description: string | null;
  readonly form: TaskForm | null;
  readonly priority: number | null;
  readonly candidateUsers: readonly string[];
  readonly candidateGroups: readonly string[];
  readonly createdAt: number;
  readonly dueAt: number | null;
  readonly followUpAt: number | null;
  /** Missing in tasks of older versions. */
  readonly tags?: readonly string[];
  /** The variables that the task shows. Null if they are too large for the document; the run has them. */
  readonly variables: Variables | null;
  readonly assignee: string | null;
  /** The user who delegated the task. */
  readonly owner: string | null;
  readonly completion: { readonly at: number; readonly by: string | null; readonly variables: Variables } | null;
  readonly comments: readonly TaskComment[];
  readonly history: readonly TaskAction[];
}

/** The attributes by which a task is found: assignee, run, process, state. */
export function taskAttributes({ assignee, run, notify }: TaskDocument, state: TaskState): DocumentAttributes {
  const runId = run?.id ?? notify?.runId;
  return {
    ...(assignee !== null && { a: assignee }),
    ...(runId !== undefined && { b: runId }),
    ...(run !== null && { c: run.process }),
    d: state,
  };
}

/** The facts of a task by which it is selected and sorted. They never change. A search key of an older version has the task id only. */
export interface TaskKey {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly process: string | null;
  readonly element: string | null;
  readonly priority: number | null;
  readonly createdAt: number;
  readonly dueAt: number | null;
  readonly tags: readonly string[];
}

/** Characters of a description that a search key has, because each candidate has one. */
const DESCRIPTION_CHARS_MAX = 1_000;

export function taskKey({ id, name, description, run, priority, createdAt, dueAt, tags = [] }: TaskDocument): TaskKey {
  const { process = null, element = null } = run ?? {};
  const shown = description?.slice(0, DESCRIPTION_CHARS_MAX) ?? null;
  return { id, name, description: shown, process, element, priority, createdAt, dueAt, tags };
}

/** The search keys of a task: one for each candidate or for anyone, and one for its due date. */
export function keyDocuments(
  task: TaskDocument,
  state: TaskState,
): readonly { readonly kind: string; readonly id: string; readonly attributes: DocumentAttributes }[] {
  const keys = [
    ...[...new Set(task.candidateUsers)].map((user) => [userKey(user), userKey(user)] as const),
    ...[...new Set(task.candidateGroups)].map((group) => [groupKey(group), groupKey(group)] as const),
    ...(task.candidateUsers.length + task.candidateGroups.length === 0 ? [[ANYONE_KEY, ANYONE_KEY] as const] : []),
    ...(task.dueAt === null ? [] : [[DUE_KEY, `${DUE_KEY} ${sortableTime(task.dueAt)}`] as const]),
  ];
  return keys.map(([key, location]) => ({
    kind: TASK_KEY_KIND,
    id: `${location} ${task.id}`,
    attributes: { a: key, d: state },
  }));
}

export const DUE_KEY = "due";

/** The key of tasks without candidates, which anyone can claim. */
export const ANYONE_KEY = "anyone";

export function userKey(user: string): string {
  return `user ${user}`;
}

export function groupKey(group: string): string {
  return `group ${group}`;
}

/** A time as text that sorts in order of time. */
export function sortableTime(at: number): string {
  return String(Math.max(0, Math.floor(at))).padStart(16, "0");
}

/** The task id. It changes when a rewind, retry or fork rewrites the journal. */
export function taskId(runId: string, location: string, edition: number): string {
  return `${runId} ${location}${edition === 0 ? "" : ` ~${edition}`}`;
}
