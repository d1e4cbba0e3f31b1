import { AsyncResource } from "node:async_hooks";
import type { Engine } from "pawl";
import type { HumanTask } from "../human/human-tasks.ts";
import type { TaskAction } from "../human/task-document.ts";
import type { IncidentKind, Variables } from "../machine/state.ts";

interface OfRun {
  readonly runId: string;
  readonly process: string;
  readonly version: number;
  /** The time of the run. */
  readonly at: number;
}

/** An activation of an element, as in `history`. */
interface OfNode extends OfRun {
  readonly element: string;
  readonly type: string;
  readonly row: number;
}

interface OfTask {
  /** The id of the task. */
  readonly task: string;
  /** Null for a task outside of processes. */
  readonly runId: string | null;
  readonly process: string | null;
  readonly element: string | null;
  readonly at: number;
}

/** What happens in process runs that an engine executes. Events, gateways and the instances of loops are nodes too. */
export type ProcessEvent =
  | (OfNode & { readonly kind: "node.started" })
  | (OfNode & { readonly kind: "node.completed"; readonly output: Variables })
  /** An operator completed it without executing it. */
  | (OfNode & { readonly kind: "node.skipped"; readonly output: Variables })
  /** Its handler failed finally, an expression failed, or it threw an error of the model, whose `code` is not null. */
  | (OfNode & { readonly kind: "node.failed"; readonly code: string | null; readonly message: string })
  /** It was interrupted or cancelled. */
  | (OfNode & { readonly kind: "node.terminated" })
  /** A variable has a new value: of the process, or of the sub-process or activity `element`. */
  | (OfRun & {
      readonly kind: "variable.updated";
      readonly name: string;
      readonly value: unknown;
      readonly element: string | null;
    })
  | (OfNode & { readonly kind: "incident.created"; readonly reason: IncidentKind; readonly message: string })
  /** An operator retried or skipped the element, or it is gone. */
  | (OfNode & { readonly kind: "incident.resolved" })
  | (OfTask & { readonly kind: "task.created" | "task.completed" | "task.cancelled" | "task.overdue" })
  /** The assignee changed. Null if the task has none. */
  | (OfTask & { readonly kind: "task.assigned"; readonly assignee: string | null });

export type ProcessEventKind = ProcessEvent["kind"];
export type ProcessEventOf<Kind extends ProcessEventKind> = ProcessEvent extends infer Event
  ? Event extends ProcessEvent
    ? Kind extends Event["kind"]
      ? Event & { readonly kind: Kind }
      : never
    : never
  : never;

/** Every kind. The compiler finds a missing one. */
const NAMES: Readonly<Record<ProcessEventKind, true>> = {
  "node.started": true,
  "node.completed": true,
  "node.skipped": true,
  "node.failed": true,
  "node.terminated": true,
  "variable.updated": true,
  "incident.created": true,
  "incident.resolved": true,
  "task.created": true,
  "task.assigned": true,
  "task.completed": true,
  "task.cancelled": true,
  "task.overdue": true,
};
export const PROCESS_EVENT_NAMES = Object.keys(NAMES) as readonly ProcessEventKind[];

/** After these events of the engine, a run has committed all that it has. */
const AT_REST = [
  "run.suspended",
  "run.completed",
  "run.failed",
  "run.paused",
  "run.continued",
  "run.released",
] as const;
/** After these, what a run had not committed is dropped. */
const GONE = ["run.cancelled", "run.lost"] as const;

/** The most records of a run that are remembered until its program receives them. Later events wait until the run is suspended. */
const COMMITTED_MAX = 1_000;

/** The events of a run that wait for the commit of the record that caused them. */
interface Waiting {
  readonly queue: { readonly location: string; readonly events: readonly ProcessEvent[] }[];
  /** Locations of records that were committed before the program received them. */
  readonly committed: Set<string>;
}

/**
 * The listeners of process events. Costs nothing while there are none.
 *
 * 1. An event is emitted after the commit of the record that caused it, in the order of the run.
 * 2. A listener that throws does not affect the run or other listeners. The engine logs its error.
 * 3. A crash between a commit and its events repeats or loses events of that commit, never others.
 */
export class ProcessEvents {
  readonly #engine: Pick<Engine, "on"> | null;
  readonly #listeners = new Map<ProcessEventKind, Set<(event: ProcessEvent) => void>>();
  readonly #waiting = new Map<string, Waiting>();
  /** Ends the subscriptions to the engine. Null while nobody listens. */
  #stop: (() => void) | null = null;
  /** Errors of listeners that the engine has not logged. */
  #thrown: unknown[] = [];

  constructor(engine: Pick<Engine, "on"> | null) {
    this.#engine = engine;
  }

  /** Whether anybody listens to any event. */
  get isActive(): boolean {
    return this.#stop !== null;
  }

  on<Kind extends ProcessEventKind>(kind: Kind, listener: (event: ProcessEventOf<Kind>) => void): () => void {
    const all = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, all);
    const own = AsyncResource.bind((event: ProcessEvent): void => listener(event as ProcessEventOf<Kind>));
    all.add(own);
    this.#stop ??= this.#follow();
    return () => {
      all.delete(own);
      if ([...this.#listeners.values()].some(({ size }) => size > 0)) return;
      this.#stop?.();
      this.#stop = null;
    };
  }

  hasListener(kind: ProcessEventKind): boolean {
    return (this.#listeners.get(kind)?.size ?? 0) > 0;
  }

  /** Emits events whose cause is durable. */
  emit(events: readonly ProcessEvent[]): void {
    for (const event of events) {
      for (const listener of [...(this.#listeners.get(event.kind) ?? [])]) {
        try {
          listener(event);
        } catch (error) {
          this.#thrown.push(error);
        }
      }
    }
  }

  /** Emits events after the commit of the record at a location. */
  emitAfter(runId: string, location: string, events: readonly ProcessEvent[]): void {
    if (events.length === 0) return;
    const waiting = this.#waiting.get(runId) ?? { queue: [], committed: new Set<string>() };
    this.#waiting.set(runId, waiting);
    waiting.queue.push({ location, events });
    if (waiting.committed.delete(location)) this.#release(waiting, location);
  }

  /** A task was changed by a call, and not by its run. */
  onTaskAction({ id, run, assignee }: HumanTask, { kind, at }: TaskAction): void {
    const task = { task: id, runId: run?.id ?? null, process: run?.process ?? null, element: run?.element ?? null, at };
    if (kind === "assigned" || kind === "claimed" || kind === "released" || kind === "delegated")
      this.emit([{ kind: "task.assigned", ...task, assignee }]);
    // The run of a process emits these events itself.
    if (run === null && (kind === "created" || kind === "completed" || kind === "cancelled"))
      this.emit([{ kind: `task.${kind}`, ...task }]);
    if (run === null && kind === "created" && assignee !== null)
      this.emit([{ kind: "task.assigned", ...task, assignee }]);
  }

  #follow(): () => void {
    const engine = this.#engine;
    if (engine === null) return () => undefined;
    const stops = [
      engine.on("record", ({ runId, record }) => this.#onRecord(runId, record.location)),
      ...AT_REST.map((kind) => engine.on(kind, ({ runId }) => this.#onRest(runId))),
      ...GONE.map((kind) => engine.on(kind, ({ runId }) => this.#onGone(runId))),
    ];
    return () => {
      for (const stop of stops) stop();
      this.#waiting.clear();
    };
  }

  #onRecord(runId: string, location: string): void {
    const waiting = this.#waiting.get(runId);
    if (waiting !== undefined) {
      if (waiting.queue.some((each) => each.location === location)) this.#release(waiting, location);
      else if (waiting.committed.size < COMMITTED_MAX) waiting.committed.add(location);
    }
    this.#reportErrors();
  }

  #onRest(runId: string): void {
    const waiting = this.#waiting.get(runId);
    this.#waiting.delete(runId);
    for (const { events } of waiting?.queue ?? []) this.emit(events);
    this.#reportErrors();
  }

  #onGone(runId: string): void {
    this.#waiting.delete(runId);
    this.#reportErrors();
  }

  #release(waiting: Waiting, location: string): void {
    const end = waiting.queue.findIndex((each) => each.location === location);
    for (const { events } of waiting.queue.splice(0, end + 1)) this.emit(events);
  }

  /** Throws to the engine, which logs the errors of its listeners. */
  #reportErrors(): void {
    const [error, ...rest] = this.#thrown;
    this.#thrown = [];
    if (error !== undefined) throw rest.length === 0 ? error : new AggregateError([error, ...rest], String(error));
  }
}
