import { type Documents, type DocumentView, kinds, optionTable, type Page, PawlError } from "pawl";
import {
  DUE_KEY,
  groupKey,
  sortableTime,
  TASK_KEY_KIND,
  TASK_KIND,
  type TaskDocument,
  type TaskKey,
  type TaskState,
  userKey,
} from "./task-document.ts";

/** `due`: earliest first, tasks without a due date last. `priority`: highest first, tasks without one last. */
export type TaskOrder = "created" | "newest" | "due" | "priority";

/** A user, with the groups of which the user is a member. */
export interface TaskUser {
  readonly id: string;
  readonly groups?: readonly string[];
}

/** Selects tasks. `candidateUser`, `candidateGroup` and `forUser` cannot be combined; the other fields narrow the result. */
export interface TaskQuery {
  /** Tasks that the user has, and those that the user can claim. */
  readonly forUser?: TaskUser;
  /** Part of the name or of the first 1,000 characters of the description. Case does not matter. */
  readonly text?: string;
  readonly element?: string;
  readonly priority?: { readonly min?: number; readonly max?: number };
  /** Tasks with all of these tags. */
  readonly tags?: readonly string[];
  /** Default: by id; if only `due` is set, by due date. */
  readonly order?: TaskOrder;
  readonly assignee?: string;
  readonly candidateUser?: string;
  readonly candidateGroup?: string;
  readonly runId?: string;
  readonly process?: string;
  /** Tasks with a due date, earliest first: all, overdue ones, or those due before a time. */
  readonly due?: "any" | "overdue" | { readonly before: number };
  /** Only tasks without an assignee. */
  readonly unassigned?: boolean;
  /** Default `open`. `any` includes all retained tasks. */
  readonly state?: TaskState | "any";
  readonly limit?: number;
  readonly cursor?: string;
}

export const LIMIT = 50;
const LIMIT_MAX = 1_000;

const NUMBER = kinds.number(-Number.MAX_VALUE, Number.MAX_VALUE);

export const TASK_QUERY = optionTable<TaskQuery>("tasks.list", {
  assignee: kinds.name,
  candidateUser: kinds.name,
  candidateGroup: kinds.name,
  runId: kinds.runId,
  process: kinds.name,
  due: kinds.either(
    kinds.literal("any"),
    kinds.literal("overdue"),
    kinds.options(optionTable<{ readonly before: number }>("due", { before: kinds.required(kinds.time) })),
  ),
  unassigned: kinds.flag,
  state: kinds.oneOf("open", "completed", "cancelled", "any"),
  forUser: kinds.options(
    optionTable<TaskUser>("forUser", { id: kinds.required(kinds.name), groups: kinds.list(kinds.name) }),
  ),
  text: kinds.text,
  element: kinds.text,
  priority: kinds.options(optionTable<NonNullable<TaskQuery["priority"]>>("priority", { min: NUMBER, max: NUMBER })),
  tags: kinds.tags,
  order: kinds.oneOf("created", "newest", "due", "priority"),
  limit: kinds.integer(1, LIMIT_MAX),
  cursor: kinds.text,
});

type Found = Page<DocumentView<TaskDocument>>;

export async function listTasks(documents: Documents, query: TaskQuery, now: number): Promise<Found> {
  const { limit = LIMIT, cursor } = query;
  const key = keyOf(query);
  if (key === null) return await listOwn(documents, query, { limit, cursor });
  return await listByKey(documents, query, key, { limit, cursor, before: beforeOf(query, now) });
}

/** Whether the index of a store is not enough. */
export function isSorted(query: TaskQuery): boolean {
  const { forUser, text, element, priority, tags, order, candidateUser, candidateGroup, due } = query;
  const candidates = [forUser, candidateUser, candidateGroup].filter((each) => each !== undefined);
  if (candidates.length > 1)
    throw new PawlError(
      "OPTION_INVALID",
      "candidateUser, candidateGroup and forUser cannot be combined; pass one of them",
    );
  if (due !== undefined && candidates.length > 0) return true;
  return [forUser, text, element, priority, tags, order].some((each) => each !== undefined);
}

interface Paging {
  readonly limit: number;
  readonly cursor: string | undefined;
}

async function listOwn(documents: Documents, query: TaskQuery, paging: Paging): Promise<Found> {
  const { assignee, runId, process, state = "open" } = query;
  const where = {
    ...(assignee !== undefined && { a: assignee }),
    ...(runId !== undefined && { b: runId }),
    ...(process !== undefined && { c: process }),
    ...(state !== "any" && { d: state }),
  };
  return await fill(paging, async (limit, cursor) => {
    const page = await documents.list<TaskDocument>({ kind: TASK_KIND, where, limit, ...(cursor && { cursor }) });
    return { items: page.items.filter((each) => fits(each, query)), cursor: page.cursor };
  });
}

/** Lists tasks by search key. The task itself is checked again, because its keys may be outdated. */
async function listByKey(
  documents: Documents,
  query: TaskQuery,
  key: string,
  paging: Paging & { readonly before: number | null },
): Promise<Found> {
  const { state = "open" } = query;
  const where = { a: key, ...(state === "open" && { d: state }) };
  const last = paging.before === null ? null : `${DUE_KEY} ${sortableTime(paging.before)}`;
  return await fill(paging, async (limit, cursor) => {
    const page = await documents.list<TaskKey | string>({
      kind: TASK_KEY_KIND,
      where,
      limit,
      ...(cursor && { cursor }),
    });
    const keys = last === null ? page.items : page.items.filter(({ id }) => id < last);
    const ids = keys.map((each) => (each.unreadable === null ? idOf(each.value) : taskIdIn(key, each.id)));
    const found = await Promise.all(ids.map((id) => documents.get<TaskDocument>(TASK_KIND, id)));
    const items = found.filter((each) => each !== null).filter((each) => fits(each, query));
    return { items, cursor: keys.length < page.items.length ? null : page.cursor };
  });
}

/** A search key of an older version is the id of its task. */
function idOf(key: TaskKey | string): string {
  return typeof key === "string" ? key : key.id;
}

/** The task id in the id of a search key, for a key whose value cannot be read. */
function taskIdIn(key: string, id: string): string {
  const location = key === DUE_KEY ? `${DUE_KEY} ${sortableTime(0)}` : key;
  return id.slice(location.length + 1);
}

/** Reads until the page is full, so that tasks filtered out leave no gaps. */
async function fill(
  { limit, cursor }: Paging,
  read: (limit: number, cursor: string | undefined) => Promise<Found>,
): Promise<Found> {
  const items: DocumentView<TaskDocument>[] = [];
  let next = cursor;
  for (;;) {
    const page = await read(limit - items.length, next);
    items.push(...page.items);
    next = page.cursor ?? undefined;
    if (next === undefined || items.length >= limit) return { items, cursor: next ?? null };
  }
}

/** Compares attributes only, so that a task whose value cannot be read is listed too. */
export function fits({ attributes }: DocumentView<TaskDocument>, query: TaskQuery): boolean {
  const { assignee, runId, process, unassigned = false, state = "open" } = query;
  return (
    (state === "any" || attributes.d === state) &&
    (assignee === undefined || attributes.a === assignee) &&
    (runId === undefined || attributes.b === runId) &&
    (process === undefined || attributes.c === process) &&
    (!unassigned || attributes.a === undefined)
  );
}

function keyOf({ candidateUser, candidateGroup, due }: TaskQuery): string | null {
  if (candidateUser !== undefined) return userKey(candidateUser);
  if (candidateGroup !== undefined) return groupKey(candidateGroup);
  return due === undefined ? null : DUE_KEY;
}

function beforeOf({ due }: TaskQuery, now: number): number | null {
  if (due === "overdue") return now;
  return typeof due === "object" ? due.before : null;
}
