import type { DocumentAttributes } from "pawl";
import type { Variables } from "../machine/state.ts";
import type { TaskForm } from "../model/human-task.ts";

/** The kind of documents that are human tasks. */
export const TASK_KIND = "task";

/** The kind of those by which tasks are found, where there may be several for one task. */
export const TASK_KEY_KIND = "task key";

export type TaskState = "open" | "completed" | "cancelled";

export interface TaskComment {
  readonly at: number;
  readonly by: string | null;
  readonly text: string;
}

/** Something that was done to a task. */
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
  /** Says which call it was. */
  readonly id: string;
  readonly at: number;
  readonly by: string | null;
  /** Who has it from then on. */
  readonly to: string | null;
  readonly why: string | null;
}

/** A human task as its document holds it. */
export interface TaskDocument {
  readonly id: string;
  /** Where in which process run it is; null: it is none of a process. */
  readonly run: {
    readonly id: string;
    readonly process: string;
    readonly version: number;
    readonly element: string;
    readonly location: string;
    readonly row: number;
  } | null;
  /** Of one that is none of a process: the run that waits for its end, and with which message. */
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
  /** What the task is about; null: too large to be kept here, the run has it. */
  readonly variables: Variables | null;
  readonly assignee: string | null;
  /** Who has given it to the one who has it. */
  readonly owner: string | null;
  readonly completion: { readonly at: number; readonly by: string | null; readonly variables: Variables } | null;
  readonly comments: readonly TaskComment[];
  readonly history: readonly TaskAction[];
}

/** By these a task is found: who has it, its run, its process, its state. */
export function taskAttributes({ assignee, run, notify }: TaskDocument, state: TaskState): DocumentAttributes {
  const runId = run?.id ?? notify?.runId;
  return {
    ...(assignee !== null && { a: assignee }),
    ...(runId !== undefined && { b: runId }),
    ...(run !== null && { c: run.process }),
    d: state,
  };
}

/** A document for each candidate, and one that lies where its time is. */
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

/** Sorts as the moment does. */
export function sortableTime(at: number): string {
  return String(Math.max(0, Math.floor(at))).padStart(16, "0");
}

/** Says which task is meant; after an operator has sent the run another way, its tasks are others. */
export function taskId(runId: string, location: string, edition: number): string {
  return `${runId} ${location}${edition === 0 ? "" : ` ~${edition}`}`;
}
