import {
  type Client,
  type Ctx,
  type DocumentMessage,
  type DocumentView,
  type Engine,
  kinds,
  type OptionKind,
  type OptionKinds,
  optionTable,
  type Page,
  PawlError,
  type Reading,
  readArgument,
  readOptions,
} from "pawl";
import { Resources } from "../deployment/resources.ts";
import type { Variables } from "../machine/state.ts";
import type { TaskForm } from "../model/human-task.ts";
import { ACTION_MESSAGE, taskMessage } from "../program/topics.ts";
import { freshId, systemNow } from "../runtime/system.ts";
import { type AskOptions, askTask, endMessage, type Question, type TaskOutcome } from "./ask-task.ts";
import { schemaOfForm } from "./camunda-form.ts";
import { checkForm, checkForms, FORMS, type Forms } from "./forms.ts";
import { flawsOfSchema } from "./json-schema.ts";
import { listSorted } from "./sorted-tasks.ts";
import {
  keyDocuments,
  type NewTask,
  TASK_KIND,
  type TaskAction,
  type TaskDocument,
  type TaskNotify,
  type TaskState,
  taskAttributes,
  taskKey,
} from "./task-document.ts";
import { isSorted, listTasks, TASK_QUERY, type TaskQuery } from "./task-queries.ts";

/** The part of an engine or client that tasks need. */
export type TaskEngine = Pick<Engine | Client, "documents" | "get">;

export interface TaskOptions {
  readonly engine: TaskEngine;
  /** JSON schemas of forms that models refer to by id. */
  readonly forms?: Forms;
  /** The current time in epoch milliseconds. Default: the system clock. */
  readonly now?: () => number;
  /** Creates unique ids. */
  readonly newId?: () => string;
}

export type HumanTask = Omit<TaskDocument, "notify" | "tags"> & {
  readonly tags: readonly string[];
  readonly state: TaskState;
  /** Set if the engine's codec cannot read the task. Only its id, assignee and state are known then, and it cannot be changed. */
  readonly unreadable: PawlError | null;
};

/** Who does it and why, for the history. */
export interface ByOptions {
  readonly by?: string;
  readonly why?: string;
}

export interface ClaimOptions {
  /** The groups of the user. */
  readonly groups?: readonly string[];
}

const USER = kinds.name;
const TASK_ID = kinds.text;

const TASK_OPTIONS = optionTable<TaskOptions>("humanTasks", {
  engine: kinds.required(kinds.withMethods("an engine or a client", "get")),
  forms: FORMS,
  now: kinds.callback,
  newId: kinds.callback,
});
const BY_OPTIONS = optionTable<ByOptions>("the call", { by: USER, why: kinds.text });
const CLAIM_OPTIONS = optionTable<ClaimOptions>("claim", { groups: kinds.list(kinds.name) });
const NEW_TASK_KINDS = {
  name: kinds.required(kinds.name),
  id: kinds.name,
  description: kinds.text,
  assignee: USER,
  form: kinds.either(kinds.variables, kinds.name) as OptionKind<never>,
  priority: kinds.number(-Number.MAX_VALUE, Number.MAX_VALUE),
  candidateUsers: kinds.list(USER),
  candidateGroups: kinds.list(USER),
  dueAt: kinds.time,
  followUpAt: kinds.time,
  tags: kinds.tags,
  variables: kinds.variables,
  notify: kinds.record("notify", { runId: kinds.runId, message: kinds.name }),
} satisfies OptionKinds<NewTask>;
const NEW_TASK = optionTable<NewTask>("the task", NEW_TASK_KINDS);

const { id: _, name: __, notify: ___, ...ASKED } = NEW_TASK_KINDS;
const ASK = optionTable<AskOptions>("ask", { ...ASKED, timeout: kinds.duration });
const CTX = kinds.withMethods("the context of a workflow", "step", "listen", "now");

/** Times that a question of a workflow can be asked anew, after rewinds. */
const EDITIONS_MAX = 1_000;

/** Maximum attempts of a change that conflicts with other changes. */
const ATTEMPTS_MAX = 20;

interface Change {
  readonly action: Omit<TaskAction, "id" | "at">;
  readonly changes: Partial<TaskDocument>;
  readonly state?: TaskState;
  /** The message to the task's run, sent in the same commit. */
  readonly sends?: DocumentMessage;
}

/**
 * Creates an API for the human tasks of a store, from an engine or a client.
 *
 * ```ts
 * const tasks = humanTasks({ engine: await createClient({ store }) });
 * await tasks.claim("r-1 approve/task", "ann", { groups: ["sales"] });
 * ```
 */
export function humanTasks(options: TaskOptions): HumanTasks {
  return observedTasks(options);
}

/** Like `humanTasks`. `onAction` is called after each change of a task. */
export function observedTasks(
  options: TaskOptions,
  onAction?: (task: HumanTask, action: TaskAction) => void,
): HumanTasks {
  const { engine, forms = {}, now = systemNow, newId = freshId } = readOptions(TASK_OPTIONS, options);
  checkForms(forms);
  return new HumanTasks({ engine, forms, now, newId }, onAction);
}

/**
 * Human tasks. A task is a document, and every change is conditional on the version that was read: only one of two concurrent
 * claims succeeds. The caller decides who may do which action, with two exceptions: only a candidate can claim a task, and a call with
 * `by` must name the assignee or the owner.
 */
export class HumanTasks {
  readonly #engine: TaskEngine;
  readonly #forms: Forms;
  readonly #now: () => number;
  readonly #newId: () => string;
  readonly #onAction: (task: HumanTask, action: TaskAction) => void;
  readonly #resources: Resources;

  /** Use `humanTasks`, or `tasks` of `createBpmn`. */
  constructor(
    { engine, forms = {}, now, newId }: Required<Omit<TaskOptions, "forms">> & Pick<TaskOptions, "forms">,
    onAction: (task: HumanTask, action: TaskAction) => void = () => undefined,
  ) {
    this.#onAction = onAction;
    this.#engine = engine;
    this.#forms = forms;
    this.#now = now;
    this.#newId = newId;
    this.#resources = new Resources(engine.documents, now);
  }

  async get(id: string): Promise<HumanTask> {
    return taskOf(await this.#read(id));
  }

  /** The actions on a task, oldest first. */
  async history(id: string): Promise<readonly TaskAction[]> {
    return (await this.get(id)).history;
  }

  /** The JSON schema of the form of a task. Null if it has no form, or one that is not known here. */
  async form(id: string): Promise<unknown> {
    const form = await this.#known((await this.get(id)).form);
    return (form?.kind === "id" ? this.#forms[form.id] : form?.schema) ?? null;
  }

  /** A form that is deployed, as its schema. Forms of the application take precedence. */
  async #known(form: TaskForm | null): Promise<TaskForm | null> {
    if (form?.kind !== "id" || Object.hasOwn(this.#forms, form.id)) return form;
    const [text] = (await this.#resources.form(form.id, form.binding ?? null))?.texts ?? [];
    return text === undefined ? form : { kind: "schema", schema: schemaOfForm(text) };
  }

  /** Lists tasks in pages. Without `order`, they are ordered by id, or by due date if they are selected by it alone. */
  async list(given?: TaskQuery): Promise<Page<HumanTask>> {
    const { documents } = this.#engine;
    const query = readOptions(TASK_QUERY, given);
    const list = isSorted(query) ? listSorted : listTasks;
    const page = await list(documents, query, this.#now());
    return { items: page.items.map(taskOf), cursor: page.cursor };
  }

  /** Creates a task outside of processes. With `notify`, a run receives a message in the commit that ends the task. */
  async create(given: NewTask): Promise<HumanTask> {
    return await this.#create(readOptions(NEW_TASK, given), null);
  }

  /** The search keys come first: one without its task is skipped, and a task without them would not be found. */
  async #create(task: NewTask & { readonly notify?: TaskNotify }, runId: string | null): Promise<HumanTask> {
    const body = checkNewTask(task, { at: this.#now(), id: task.id ?? this.#newId() });
    const { documents } = this.#engine;
    if ((await documents.get(TASK_KIND, body.id)) !== null) throw taskError(body.id, "already exists", "TASK_STATE");
    for (const key of keyDocuments(body, "open")) await documents.revise(null, { ...key, runId, value: taskKey(body) });
    const outcome = await documents.revise(null, documentOf(body, "open", runId));
    if (outcome.kind !== "done") throw taskError(body.id, "already exists", "TASK_STATE");
    const made = taskOf(await this.#read(body.id));
    for (const action of body.history) this.#onAction(made, action);
    return made;
  }

  /**
   * Creates a task in a step of a code workflow, and waits for its end. The task belongs to the run: it is cancelled when the run fails or
   * is cancelled.
   *
   * ```ts
   * const answer = await tasks.ask(ctx, "Approve the order", { candidateGroups: ["sales"], timeout: "2 days" });
   * ```
   */
  async ask(ctx: Ctx, name: string, given?: AskOptions): Promise<TaskOutcome> {
    readArgument(CTX, ctx, "ctx");
    readArgument(kinds.name, name, "name");
    const options = readOptions(ASK, given);
    checkNewTask({ ...options, name }, { at: 0, id: name });
    return await askTask(ctx, name, options, {
      open: (question) => this.#openQuestion(question),
      close: (task) => this.#closeQuestion(task),
    });
  }

  /** A task of the same run with another time is of a journal that was rewound. It is cancelled, and the next one gets another id. */
  async #openQuestion({ task, runId, key, since }: Question): Promise<string> {
    for (let edition = 1; edition <= EDITIONS_MAX; edition += 1) {
      const id = edition === 1 ? key : `${key} ~${edition}`;
      const seen = await this.#engine.documents.get<TaskDocument>(TASK_KIND, id);
      if (seen === null) {
        await this.#create({ ...task, id, notify: { runId, message: endMessage(id), since } }, runId);
        return id;
      }
      if (readable(seen).value.notify?.since === since) return id;
      if (stateOf(seen) === "open") await this.#drop(id, "its run was rewound");
    }
    throw taskError(key, `was asked ${EDITIONS_MAX} times`, "TASK_STATE");
  }

  async #closeQuestion(id: string): Promise<"completed" | "cancelled"> {
    try {
      await this.#drop(id, "its time is over");
      return "cancelled";
    } catch (error) {
      const isEnded = error instanceof PawlError && error.code === "TASK_STATE";
      const state = isEnded ? (await this.get(id)).state : "open";
      if (state === "open") throw error;
      return state;
    }
  }

  /** Cancels a task without a message to its run. */
  async #drop(id: string, why: string): Promise<void> {
    const cancel = ({ assignee }: TaskDocument): Change => ({
      action: actionOf("cancelled", { why }, assignee),
      changes: {},
      state: "cancelled",
    });
    await this.#change(id, cancel);
  }

  /** Assigns a task, even if another user has it. Null removes the assignee. */
  async assign(id: string, to: string | null, given?: ByOptions): Promise<HumanTask> {
    readArgument(kinds.nullable(USER), to, "to");
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(id, () => ({
      action: actionOf("assigned", options, to),
      changes: { assignee: to, owner: null },
    }));
  }

  /** Assigns an unassigned task to a candidate. Only one of two concurrent claims succeeds. */
  async claim(id: string, user: string, options?: ClaimOptions): Promise<HumanTask> {
    readArgument(USER, user, "user");
    const { groups = [] } = readOptions(CLAIM_OPTIONS, options);
    return await this.#change(id, (task) => {
      if (task.assignee === user) return null;
      if (task.assignee !== null) throw taskError(id, `is already assigned to ${task.assignee}`, "TASK_STATE");
      if (!isCandidate(task, user, groups)) throw taskError(id, `has no candidate ${user}`, "TASK_FORBIDDEN");
      return { action: actionOf("claimed", { by: user }, user), changes: { assignee: user } };
    });
  }

  /** Returns a delegated task to its owner, or an own task to all candidates. */
  async release(id: string, given?: ByOptions): Promise<HumanTask> {
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(id, (task) => {
      if (task.assignee === null) throw taskError(id, "is not assigned", "TASK_STATE");
      checkAssignee(task, options.by);
      return { action: actionOf("released", options, task.owner), changes: { assignee: task.owner, owner: null } };
    });
  }

  /** Assigns a task to another user. The previous assignee stays its owner and gets it back when it is released. */
  async delegate(id: string, to: string, given?: ByOptions): Promise<HumanTask> {
    readArgument(USER, to, "to");
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(id, (task) => {
      checkAssignee(task, options.by);
      const owner = task.owner ?? task.assignee ?? options.by ?? null;
      return { action: actionOf("delegated", options, to), changes: { assignee: to, owner } };
    });
  }

  /** Completes a task. Rejects variables that do not match its form; then nothing changes. */
  async complete(id: string, givenVariables?: Variables, given?: ByOptions): Promise<HumanTask> {
    const filled = readArgument(kinds.optional(kinds.variables), givenVariables, "variables") ?? {};
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(id, async (task) => {
      checkAssignee(task, options.by);
      const variables = checkForm(id, await this.#known(task.form), this.#forms, filled);
      const at = this.#now();
      const completion = { at, by: options.by ?? null, variables };
      return {
        action: actionOf("completed", options, task.assignee),
        changes: { completion },
        state: "completed",
        ...notificationOf(
          task,
          { state: "completed", ...(options.by !== undefined && { by: options.by }), variables },
          () => ({ variables }),
        ),
      };
    });
  }

  /** Cancels a task. In a process, the token that waits at it is cancelled too. */
  async cancel(id: string, given?: ByOptions): Promise<HumanTask> {
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(id, (task) => ({
      action: actionOf("cancelled", options, task.assignee),
      changes: {},
      state: "cancelled",
      ...notificationOf(task, { state: "cancelled" }, null),
    }));
  }

  async comment(id: string, text: string, given?: ByOptions): Promise<HumanTask> {
    readArgument(kinds.text, text, "text");
    const options = readOptions(BY_OPTIONS, given);
    return await this.#change(
      id,
      (task) => {
        const comment = { at: this.#now(), by: options.by ?? null, text };
        return {
          action: actionOf("commented", options, task.assignee),
          changes: { comments: [...task.comments, comment] },
        };
      },
      "any",
    );
  }

  /** Reads the task, decides and writes, until no other change interferes. `decide` returns null if nothing is to change. */
  async #change(
    id: string,
    decide: (task: HumanTask & TaskDocument) => Promise<Change | null> | Change | null,
    states: "open" | "any" = "open",
  ): Promise<HumanTask> {
    const actionId = this.#newId();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const seen = readable(await this.#read(id));
      const task = { ...seen.value, tags: seen.value.tags ?? [], state: stateOf(seen), unreadable: null };
      // An earlier attempt was written, but its reply was lost.
      if (task.history.some((action) => action.id === actionId)) return taskOf(seen);
      if (states === "open" && task.state !== "open") throw taskError(id, `is ${task.state}`, "TASK_STATE");
      const change = await decide(task);
      if (change === null) return taskOf(seen);
      const { action, changes, state = task.state, sends } = change;
      const history = [...task.history, { ...action, id: actionId, at: this.#now() }];
      const next: TaskDocument = { ...seen.value, ...changes, history };
      const outcome = await this.#engine.documents.revise(seen, documentOf(next, state, seen.runId), sends);
      if (outcome.kind === "done") {
        if (next.run === null && state !== "open") await this.#closeKeys(next, state);
        const changed = taskOf({ id, value: next, unreadable: null, attributes: { d: state } });
        for (const each of history.slice(-1)) this.#onAction(changed, each);
        return changed;
      }
      if (outcome.kind === "ended") await this.#close(seen, outcome.status);
    }
    throw taskError(id, "kept changing; try again", "TASK_STATE");
  }

  /** Closes the search keys of a task outside of processes. One that stays open costs a list a read, and nothing else. */
  async #closeKeys(task: TaskDocument, state: TaskState): Promise<void> {
    const { documents } = this.#engine;
    for (const { kind, id } of keyDocuments(task, state)) {
      const seen = await documents.get(kind, id);
      if (seen === null || seen.unreadable !== null) continue;
      const { runId, value, attributes } = seen;
      await documents.revise(seen, { kind, id, runId, value, attributes: { ...attributes, d: state } });
    }
  }

  /** Cancels a task whose run has ended. */
  async #close(seen: ReadableTask, status: string | null): Promise<never> {
    const { documents } = this.#engine;
    const why = status === null ? "its run was not found" : `its run is ${status}`;
    const action = { kind: "cancelled", id: this.#newId(), at: this.#now(), by: null, to: null, why } as const;
    const body = { ...seen.value, history: [...seen.value.history, action] };
    await documents.revise(seen, documentOf(body, "cancelled", seen.runId));
    throw taskError(seen.id, `is cancelled: ${why}`, "TASK_STATE");
  }

  async #read(id: string): Promise<DocumentView<TaskDocument>> {
    const found = await this.#engine.documents.get<TaskDocument>(TASK_KIND, readArgument(TASK_ID, id, "task id"));
    if (found === null)
      throw new PawlError(
        "TASK_NOT_FOUND",
        `task ${id} not found; check the id, or whether its run was removed by retention`,
      );
    return found;
  }
}

function documentOf(value: TaskDocument, state: TaskState, runId: string | null) {
  return { kind: TASK_KIND, id: value.id, runId, value, attributes: taskAttributes(value, state) };
}

type ReadableTask = Extract<DocumentView<TaskDocument>, { readonly unreadable: null }>;

type TaskRow = Pick<DocumentView<TaskDocument>, "id" | "attributes"> & Reading<TaskDocument>;

function readable(view: DocumentView<TaskDocument>): ReadableTask {
  if (view.unreadable !== null) throw view.unreadable;
  return view;
}

function taskOf({ id, value, unreadable, attributes }: TaskRow): HumanTask {
  const state = stateOf({ attributes });
  if (unreadable !== null) return { ...UNKNOWN, id, assignee: attributes.a ?? null, state, unreadable };
  const { notify: _, tags = [], ...task } = value;
  return { ...task, tags, state, unreadable };
}

/** The fields of a task that cannot be read. */
const UNKNOWN: Omit<HumanTask, "id" | "assignee" | "state" | "unreadable"> = {
  run: null,
  name: "",
  description: null,
  form: null,
  priority: null,
  candidateUsers: [],
  candidateGroups: [],
  createdAt: 0,
  dueAt: null,
  followUpAt: null,
  tags: [],
  variables: null,
  owner: null,
  completion: null,
  comments: [],
  history: [],
};

function stateOf({ attributes }: Pick<DocumentView, "attributes">): TaskState {
  return attributes.d as TaskState;
}

function actionOf(kind: TaskAction["kind"], { by, why }: ByOptions, to: string | null): Change["action"] {
  return { kind, by: by ?? null, to, why: why ?? null };
}

function isCandidate(task: TaskDocument, user: string, groups: readonly string[]): boolean {
  if (task.candidateUsers.length + task.candidateGroups.length === 0) return true;
  return task.candidateUsers.includes(user) || task.candidateGroups.some((group) => groups.includes(group));
}

/** A user that is named must be the assignee or the owner. */
function checkAssignee(task: TaskDocument, by: string | undefined): void {
  if (by === undefined || task.assignee === null || by === task.assignee || by === task.owner) return;
  throw taskError(task.id, `is assigned to ${task.assignee}, not to ${by}`, "TASK_FORBIDDEN");
}

/** The message for the end of a task: to its process run, or to the run in `notify`. */
function notificationOf(
  { id, run, notify }: TaskDocument,
  end: object,
  completed: (() => object) | null,
): { readonly sends?: DocumentMessage } {
  const messageId = `task ${id}`;
  if (run !== null && completed !== null) {
    return { sends: { runId: run.id, message: taskMessage(run.location), value: completed(), id: messageId } };
  }
  if (run !== null) {
    const action = { kind: "cancelToken", row: run.row };
    return { sends: { runId: run.id, message: ACTION_MESSAGE, value: action, id: messageId } };
  }
  return notify === null
    ? {}
    : { sends: { runId: notify.runId, message: notify.message, value: { task: id, ...end }, id: messageId } };
}

function taskError(id: string, reason: string, code: "TASK_STATE" | "TASK_FORBIDDEN"): PawlError {
  return new PawlError(code, `task ${id} ${reason}`);
}

function checkNewTask(task: NewTask, { at, id }: { readonly at: number; readonly id: string }): TaskDocument {
  const { name, description = null, assignee = null, form, priority = null, variables = {}, notify = null } = task;
  const { candidateUsers = [], candidateGroups = [], dueAt = null, followUpAt = null, tags = [] } = task;
  if (name.trim() === "") throw invalid("the task has no name");
  const [flaw] = typeof form === "object" ? flawsOfSchema(form.schema) : [];
  if (flaw !== undefined) throw invalid(`form of task ${id}: ${flaw.path} ${flaw.text}`);
  return {
    id,
    run: null,
    notify,
    name,
    description,
    form: form === undefined ? null : typeof form === "string" ? { kind: "id", id: form } : { kind: "schema", ...form },
    priority,
    candidateUsers,
    candidateGroups,
    createdAt: at,
    dueAt,
    followUpAt,
    tags,
    variables,
    assignee,
    owner: null,
    completion: null,
    comments: [],
    history: [{ kind: "created", id: `created ${id} ${at}`, at, by: null, to: assignee, why: null }],
  };
}

function invalid(text: string): PawlError {
  return new PawlError("OPTION_INVALID", text);
}
