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
  readonly notify: { readonly runId: string; readonly message: string } | null;
  readonly name: string;
  readonly description: string | null;
  readonly form: TaskForm | null;
  readonly priority: number | null;
  readonly candidateUsers: readonly string[];
  readonly candidateGroups: readonly string[];
  readonly createdAt: number;
  readonly dueAt: number | null;
  readonly followUpAt: number | null;
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

/** The search keys of a task: one for each candidate, and one for its due date. */
export function keyDocuments(
  task: TaskDocument,
  state: TaskState,
): readonly { readonly kind: string; readonly id: string; readonly attributes: DocumentAttributes }[] {
  const keys = [
    ...[...new Set(task.candidateUsers)].map((user) => [userKey(user), userKey(user)] as const),
    ...[...new Set(task.candidateGroups)].map((group) => [groupKey(group), groupKey(group)] as const),
    ...(task.dueAt === null ? [] : [[DUE_KEY, `${DUE_KEY} ${sortableTime(task.dueAt)}`] as const]),
  ];
  return keys.map(([key, location]) => ({
    kind: TASK_KEY_KIND,
    id: `${location} ${task.id}`,
    attributes: { a: key, d: state },
  }));
}

export const DUE_KEY = "due";

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
