import { type Documents, type DocumentView, type Page, PawlError } from "pawl";
import {
  ANYONE_KEY,
  groupKey,
  TASK_KEY_KIND,
  TASK_KIND,
  type TaskDocument,
  type TaskKey,
  taskKey,
  userKey,
} from "./task-document.ts";
import { fits, LIMIT, type TaskOrder, type TaskQuery } from "./task-queries.ts";

/**
 * Lists tasks in an order, or by what no store indexes: a user with groups, text, element, priority or tags. The keys of all tasks that
 * the index gives are read, selected and sorted, so the number of these is bounded. Only the tasks of the page are read then.
 */

type Found = Page<DocumentView<TaskDocument>>;

interface Entry {
  readonly key: TaskKey;
  /** Null if only a search key was read. */
  readonly view: DocumentView<TaskDocument> | null;
}

/** Where tasks are looked for: an attribute of the tasks, or a search key. */
interface Source {
  readonly kind: typeof TASK_KIND | typeof TASK_KEY_KIND;
  readonly where: Readonly<Partial<Record<"a" | "b" | "c" | "d", string>>>;
}

const SCANNED_MAX = 10_000;
const PAGE = 1_000;

export async function listSorted(documents: Documents, query: TaskQuery, now: number): Promise<Found> {
  const { order = "created", limit = LIMIT, cursor } = query;
  const entries = new Map<string, Entry>();
  let scanned = 0;
  for (const source of sourcesOf(query)) {
    for await (const entry of entriesOf(documents, source)) {
      scanned += 1;
      if (scanned > SCANNED_MAX)
        throw new PawlError("OPTION_INVALID", `more than ${SCANNED_MAX} tasks have to be sorted; narrow the query`);
      if (entries.get(entry.key.id)?.view == null) entries.set(entry.key.id, entry);
    }
  }
  const after = cursor === undefined ? null : readPlace(order, cursor);
  const sorted = [...entries.values()]
    .filter(({ key }) => selects(key, query, now))
    .map((entry) => ({ entry, place: placeOf(order, entry.key) }))
    .filter(({ place }) => after === null || compare(place, after) > 0)
    .sort((a, b) => compare(a.place, b.place));
  const items: DocumentView<TaskDocument>[] = [];
  for (let at = 0; at < sorted.length; ) {
    const part = sorted.slice(at, at + limit - items.length);
    at += part.length;
    const views = await Promise.all(part.map(({ entry }) => viewOf(documents, entry)));
    items.push(...views.filter((view) => view !== null).filter((view) => fits(view, query) && isFor(view, query)));
    const last = part.at(-1);
    if (items.length >= limit && at < sorted.length && last !== undefined)
      return { items, cursor: writePlace(order, last.place) };
  }
  return { items, cursor: null };
}

function sourcesOf(query: TaskQuery): readonly Source[] {
  const { forUser, candidateUser, candidateGroup, assignee, runId, process, state = "open" } = query;
  const open = state === "any" ? {} : { d: state };
  // The search keys of a task that has ended are closed later than the task.
  const byKey = (a: string): Source => ({ kind: TASK_KEY_KIND, where: { a, ...(state === "open" && open) } });
  if (forUser !== undefined) {
    const keys = [userKey(forUser.id), ...new Set((forUser.groups ?? []).map(groupKey)), ANYONE_KEY];
    return [{ kind: TASK_KIND, where: { a: forUser.id, ...open } }, ...keys.map(byKey)];
  }
  if (candidateUser !== undefined) return [byKey(userKey(candidateUser))];
  if (candidateGroup !== undefined) return [byKey(groupKey(candidateGroup))];
  const where = {
    ...(assignee !== undefined && { a: assignee }),
    ...(runId !== undefined && { b: runId }),
    ...(process !== undefined && { c: process }),
    ...open,
  };
  return [{ kind: TASK_KIND, where }];
}

async function* entriesOf(documents: Documents, { kind, where }: Source): AsyncGenerator<Entry> {
  for (let cursor: string | undefined; ; ) {
    const query = { kind, where, limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const page = await documents.list<TaskDocument | TaskKey | string>(query);
    for (const found of page.items) {
      const entry = kind === TASK_KIND ? ofTask(found as DocumentView<TaskDocument>) : await ofKey(documents, found);
      if (entry !== null) yield entry;
    }
    if (page.cursor === null) return;
    cursor = page.cursor;
  }
}

function ofTask(view: DocumentView<TaskDocument>): Entry {
  return { key: view.unreadable === null ? taskKey(view.value) : { ...UNKNOWN, id: view.id }, view };
}

/** A search key of an older version has the id of its task only. One that cannot be read is skipped. */
async function ofKey(documents: Documents, { value, unreadable }: DocumentView): Promise<Entry | null> {
  if (unreadable !== null) return null;
  if (typeof value !== "string") return { key: value as TaskKey, view: null };
  const view = await documents.get<TaskDocument>(TASK_KIND, value);
  return view === null ? null : ofTask(view);
}

const UNKNOWN: Omit<TaskKey, "id"> = {
  name: "",
  description: null,
  process: null,
  element: null,
  priority: null,
  createdAt: 0,
  dueAt: null,
  tags: [],
};

async function viewOf(documents: Documents, { key, view }: Entry): Promise<DocumentView<TaskDocument> | null> {
  return view ?? (await documents.get<TaskDocument>(TASK_KIND, key.id));
}

/** Whether the facts of a task, which never change, are those of the query. */
function selects(key: TaskKey, query: TaskQuery, now: number): boolean {
  const { text, element, process, priority, tags = [], due } = query;
  const words = `${key.name}\n${key.description ?? ""}`.toLowerCase();
  const before = due === "overdue" ? now : typeof due === "object" ? due.before : Number.POSITIVE_INFINITY;
  return (
    (text === undefined || words.includes(text.toLowerCase())) &&
    (element === undefined || key.element === element) &&
    (process === undefined || key.process === process) &&
    (priority === undefined || isWithin(key.priority, priority)) &&
    tags.every((tag) => key.tags.includes(tag)) &&
    (due === undefined || (key.dueAt !== null && key.dueAt < before))
  );
}

function isWithin(value: number | null, { min, max }: NonNullable<TaskQuery["priority"]>): boolean {
  if (value === null) return false;
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}

/** Whether the user has the task or can claim it. A search key may be of a task that was created anew with other candidates. */
function isFor(view: DocumentView<TaskDocument>, { forUser, candidateUser, candidateGroup }: TaskQuery): boolean {
  const { value, unreadable, attributes } = view;
  if (unreadable !== null) return forUser === undefined || attributes.a === forUser.id;
  const { candidateUsers, candidateGroups } = value;
  if (candidateUser !== undefined) return candidateUsers.includes(candidateUser);
  if (candidateGroup !== undefined) return candidateGroups.includes(candidateGroup);
  if (forUser === undefined || value.assignee === forUser.id) return true;
  if (value.assignee !== null) return false;
  if (candidateUsers.length + candidateGroups.length === 0) return true;
  return candidateUsers.includes(forUser.id) || candidateGroups.some((group) => forUser.groups?.includes(group));
}

/** The place of a task in an order. The id makes it unique. */
type Place = readonly [rank: number, createdAt: number, id: string];

function placeOf(order: TaskOrder, { id, priority, createdAt, dueAt }: TaskKey): Place {
  switch (order) {
    case "created":
      return [0, createdAt, id];
    case "newest":
      return [0, -createdAt, id];
    case "due":
      return [dueAt ?? Number.MAX_VALUE, createdAt, id];
    case "priority":
      return [priority === null ? Number.MAX_VALUE : -priority, createdAt, id];
  }
}

function compare(a: Place, b: Place): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : a[2] > b[2] ? 1 : 0);
}

function writePlace(order: TaskOrder, place: Place): string {
  return Buffer.from(JSON.stringify([order, ...place])).toString("base64url");
}

function readPlace(order: TaskOrder, cursor: string): Place {
  const [of, rank, createdAt, id] = parsed(cursor);
  if (of === order && typeof rank === "number" && typeof createdAt === "number" && typeof id === "string")
    return [rank, createdAt, id];
  throw new PawlError(
    "CURSOR_INVALID",
    `the cursor is not one of tasks in the order ${order}; list from the beginning`,
  );
}

function parsed(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
