import { PawlError, type ProgramHost, type StoredDocument } from "pawl";
import {
  keyDocuments,
  TASK_KEY_KIND,
  TASK_KIND,
  type TaskDocument,
  taskAttributes,
  taskId,
  taskKey,
} from "../human/task-document.ts";
import type { Command, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import type { WorkingState } from "../machine/working-state.ts";
import type { TaskForm } from "../model/human-task.ts";
import type { Pins } from "../model/pins.ts";

type TaskCommand = Extract<Command, { kind: "task" }>;

/** The ids of the documents of one open task: its own, and its search keys. */
interface OpenTask {
  readonly id: string;
  readonly keys: readonly string[];
}

/** The human tasks of a run, as documents. A task document is created with its wait command and ends with it. */
export class TaskDocuments {
  /** Journal rewrites before the run was migrated to this version. */
  editions = 0;
  /** The priority of tasks that have none of their own. */
  priority: number | null = null;
  readonly #host: ProgramHost;
  readonly #pins: Pins;
  readonly #open = new Map<string, OpenTask>();

  constructor(host: ProgramHost, pins: Pins) {
    this.#host = host;
    this.#pins = pins;
  }

  /** The task id. It changes when a rewind, retry or fork rewrites the journal. */
  idOf(location: string): string {
    return taskId(this.#host.runId, location, this.#host.edition + this.editions);
  }

  open(state: WorkingState, command: TaskCommand): readonly StoredDocument[] {
    const id = this.idOf(command.location);
    const made = bodyOf(this.#host, state, command, id);
    const form = pinnedForm(command.facts?.form ?? null, this.#pins);
    const body = { ...made, form, priority: made.priority ?? this.priority };
    const { runId } = this.#host;
    const own = { kind: TASK_KIND, id, runId, body: this.#encode(body), attributes: taskAttributes(body, "open") };
    const keys = keyDocuments(body, "open").map(
      (each): StoredDocument => ({ ...each, runId, body: this.#host.encode(taskKey(body), `key of task ${id}`) }),
    );
    this.#open.set(command.location, { id, keys: keys.map((key) => key.id) });
    return [own, ...keys];
  }

  close(location: string, state: "completed" | "cancelled"): void {
    const row = this.#open.get(location);
    if (row === undefined) return;
    this.#open.delete(location);
    this.#host.mark(TASK_KIND, row.id, { d: state });
    for (const key of row.keys) this.#host.mark(TASK_KEY_KIND, key, { d: state });
  }

  /** Cancels all open tasks at the end of the run. */
  closeAll(): void {
    for (const location of [...this.#open.keys()]) this.close(location, "cancelled");
  }

  /** Encodes a task. Variables that exceed the size limit are omitted; the run has them. */
  #encode(body: TaskDocument) {
    const name = `task ${body.id}`;
    try {
      return this.#host.encode(body, name);
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      return this.#host.encode({ ...body, variables: null }, name);
    }
  }
}

/** A form with the binding `deployment` becomes one with the version that was deployed together with the process. */
function pinnedForm(form: TaskForm | null, { forms }: Pins): TaskForm | null {
  if (form?.kind !== "id" || form.binding?.kind !== "deployment") return form;
  const version = forms[form.id];
  return version === undefined ? form : { ...form, binding: { kind: "version", version } };
}

function bodyOf(host: ProgramHost, state: WorkingState, command: TaskCommand, id: string): TaskDocument {
  const { facts, location, row } = command;
  const element = state.rows.get(row)?.element ?? "";
  const variables: Variables = variablesOfRow(state, row);
  const at = host.now();
  return {
    id,
    run: { id: host.runId, process: state.process.id, version: host.run.version, element, location, row },
    notify: null,
    name: facts?.name ?? element,
    description: facts?.description ?? null,
    form: null,
    priority: facts?.priority ?? null,
    candidateUsers: facts?.candidateUsers ?? [],
    candidateGroups: facts?.candidateGroups ?? [],
    createdAt: at,
    dueAt: facts?.dueAt ?? null,
    followUpAt: facts?.followUpAt ?? null,
    tags: [],
    variables,
    assignee: facts?.assignee ?? null,
    owner: null,
    completion: null,
    comments: [],
    history: [{ kind: "created", id: "created", at, by: null, to: facts?.assignee ?? null, why: null }],
  };
}
