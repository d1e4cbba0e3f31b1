import type { Observer } from "../machine/observer.ts";
import type { Command, IncidentKind, Row, Variables } from "../machine/state.ts";
import { ROOT, type WorkingState } from "../machine/working-state.ts";
import type { ProcessEvent, ProcessEventKind } from "./process-events.ts";

/** Incidents that follow a failed handler, which was a failure of its own. */
const OF_HANDLERS: ReadonlySet<IncidentKind> = new Set(["failed", "noHandler", "uncaughtError", "call"]);

interface RunEventsParts {
  readonly runId: string;
  readonly version: number;
  hasListener(kind: ProcessEventKind): boolean;
  taskId(location: string): string;
}

type Detail<Event = ProcessEvent> = Event extends unknown ? Omit<Event, "runId" | "process" | "version" | "at"> : never;

/** Collects the events of one run while the machine applies an event. Values are copied, because listeners may keep them. */
export class RunEvents implements Observer {
  readonly #parts: RunEventsParts;
  #state: WorkingState;
  #events: ProcessEvent[] = [];
  readonly #skipped = new Set<number>();
  /** Rows whose end was reported. */
  readonly #ended = new Set<number>();
  /** Rows that failed in this event of the machine. If a row is gone at once, an event of the model has caught its failure. */
  readonly #failed = new Set<number>();

  constructor(parts: RunEventsParts, state: WorkingState) {
    this.#parts = parts;
    this.#state = state;
  }

  /** Observes the next event of the run. */
  observe(state: WorkingState): void {
    this.#state = state;
    state.observer = this;
  }

  /** The events since the last call. */
  take(): readonly ProcessEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#state.observer = null;
    this.#failed.clear();
    return events;
  }

  entered(row: Row): number {
    this.#node("node.started", row, {});
    return 0;
  }

  completed(row: Row, output: Variables): void {
    if (this.#ended.has(row.id)) return;
    this.#ended.add(row.id);
    this.#node(this.#skipped.delete(row.id) ? "node.skipped" : "node.completed", row, { output });
  }

  skipped(row: Row): void {
    this.#skipped.add(row.id);
  }

  failed(row: Row, { code, message }: { readonly code: string | null; readonly message: string }): void {
    this.#failed.add(row.id);
    this.#node("node.failed", row, { code, message });
  }

  removed(row: Row): void {
    if (row.incident !== null) this.resolved(row);
    const isReported = this.#ended.delete(row.id) || this.#failed.has(row.id);
    if (!isReported) this.#node("node.terminated", row, {});
  }

  raised(row: Row): void {
    if (row.incident === null) return;
    const { kind: reason, message } = row.incident;
    if (!OF_HANDLERS.has(reason)) this.#node("node.failed", row, { code: null, message });
    this.#node("incident.created", row, { reason, message });
  }

  resolved(row: Row): void {
    this.#node("incident.resolved", row, {});
  }

  assigned(row: Row, name: string, value: unknown): void {
    if (!this.#parts.hasListener("variable.updated")) return;
    this.#add({ kind: "variable.updated", name, value, element: row.id === ROOT ? null : row.element });
  }

  issued(command: Command): void {
    if (command.kind === "overdue") this.#add({ kind: "task.overdue", ...this.#taskAt(command.task) });
    if (command.kind !== "task") return;
    this.#task("task.created", command);
    const assignee = command.facts?.assignee ?? null;
    if (assignee !== null) this.#add({ kind: "task.assigned", ...this.#taskOf(command), assignee });
  }

  closed(command: Command, how: "completed" | "cancelled"): void {
    if (command.kind === "task") this.#task(`task.${how}`, command);
  }

  /** The run ends while these rows and tasks are open. */
  ended(): void {
    for (const command of this.#state.commands.values()) this.closed(command, "cancelled");
    for (const row of this.#state.rows.values()) if (row.id !== ROOT) this.removed(row);
  }

  #node(kind: ProcessEventKind, { id: row, element }: Row, more: object): void {
    if (row === ROOT || !this.#parts.hasListener(kind)) return;
    const type = this.#state.process.elements.get(element)?.type ?? "";
    this.#add({ kind, element, type, row, ...more } as Detail);
  }

  #task(kind: "task.created" | "task.completed" | "task.cancelled", command: Extract<Command, { kind: "task" }>): void {
    this.#add({ kind, ...this.#taskOf(command) });
  }

  #taskOf({ location, row }: Extract<Command, { kind: "task" }>) {
    return { task: this.#parts.taskId(location), element: this.#state.rows.get(row)?.element ?? null };
  }

  #taskAt(location: string) {
    const command = this.#state.commands.get(location);
    const row = command?.kind === "task" ? this.#state.rows.get(command.row) : undefined;
    return { task: this.#parts.taskId(location), element: row?.element ?? null };
  }

  #add(event: Detail): void {
    if (!this.#parts.hasListener(event.kind)) return;
    const { runId, version } = this.#parts;
    const own = { runId, process: this.#state.process.id, version, at: this.#state.at };
    this.#events.push(structuredClone({ ...event, ...own }) as ProcessEvent);
  }
}
