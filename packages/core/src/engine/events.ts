import { type Failure, toError } from "../model/failure.ts";
import type { AppendOp } from "../model/op.ts";
import { type Codec, readingOf } from "../model/payload.ts";
import type { LimitName } from "../model/policy.ts";
import type { JournalRecord } from "../model/record.ts";
import { type RollbackFailure, rollbackFailures } from "../model/rollback-failure.ts";
import type { Payload, Run, Status, TerminalStatus } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import { warningOf } from "../runner/limits.ts";
import { currentContext } from "../runtime/async-context.ts";
import type { Log } from "../runtime/log.ts";
import type { ProgramIncident } from "../workflow/program.ts";
import { type FailureLog, isFailedStep } from "./failure-log.ts";

/** Events of an engine: the transitions that it commits, and its own state. */
export type EngineEvent =
  | {
      readonly kind:
        | "run.started"
        | "run.claimed"
        | "run.suspended"
        | "run.woken"
        | "run.continued"
        | "run.resumed"
        /** The run was rewound, retried or migrated, and continues. */
        | "run.reopened"
        | "run.released";
      readonly runId: string;
      readonly workflow: string;
    }
  | {
      readonly kind: "run.paused" | "run.compensating" | "run.completed" | "run.failed" | "run.cancelled";
      readonly runId: string;
      readonly workflow: string;
      readonly error: Error | null;
    }
  /** A rollback ended. `error` is set if its last attempt failed. */
  | {
      readonly kind: "rollback";
      readonly runId: string;
      readonly workflow: string;
      readonly step: string;
      readonly error: Error | null;
    }
  /** The compensation ended; `failures` are the rollbacks that failed. Emitted before the event of the run's end. */
  | {
      readonly kind: "run.compensated";
      readonly runId: string;
      readonly workflow: string;
      readonly failures: readonly RollbackFailure[];
    }
  /** A run has used `percent` of a limit. At 100 % it fails. */
  | {
      readonly kind: "run.warning";
      readonly runId: string;
      readonly workflow: string;
      readonly limit: LimitName;
      readonly percent: number;
    }
  /** A part of the run, such as an element of a process, cannot continue until an operator acts. */
  | {
      readonly kind: "run.incident";
      readonly runId: string;
      readonly workflow: string;
      readonly element: string;
      readonly reason: string;
      readonly message: string;
    }
  /** This worker lost the run: another worker owns it, or the run was cancelled or paused from outside. */
  | { readonly kind: "run.lost"; readonly runId: string; readonly workflow: string; readonly reason: string }
  | { readonly kind: "record"; readonly runId: string; readonly workflow: string; readonly record: JournalRecord }
  | {
      readonly kind: "resource.releaseFailed";
      readonly runId: string;
      readonly workflow: string;
      readonly resource: string;
      readonly error: unknown;
    }
  | { readonly kind: "unhandledRejection"; readonly runId: string; readonly error: unknown }
  | { readonly kind: "store.down"; readonly error: Error }
  | { readonly kind: "store.up" }
  /** The store acknowledged a heartbeat of this worker. */
  | { readonly kind: "worker.renewed"; readonly worker: string }
  /** The worker's lease had expired. */
  | { readonly kind: "worker.lapsed"; readonly worker: string }
  | { readonly kind: "engine.broken"; readonly error: unknown };

export type EngineEventKind = EngineEvent["kind"];

/** Every kind. The compiler finds a missing one. */
const NAMES: Readonly<Record<EngineEventKind, true>> = {
  "run.started": true,
  "run.claimed": true,
  "run.suspended": true,
  "run.woken": true,
  "run.continued": true,
  "run.resumed": true,
  "run.reopened": true,
  "run.released": true,
  "run.paused": true,
  "run.compensating": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
  "run.compensated": true,
  "run.warning": true,
  "run.incident": true,
  "run.lost": true,
  rollback: true,
  record: true,
  "resource.releaseFailed": true,
  unhandledRejection: true,
  "store.down": true,
  "store.up": true,
  "worker.renewed": true,
  "worker.lapsed": true,
  "engine.broken": true,
};
export const EVENT_NAMES = Object.keys(NAMES) as readonly EngineEventKind[];

/** The event of one kind, even if several kinds share a type. */
export type EventOf<Kind extends EngineEventKind> = Kind extends unknown ? Narrowed<EngineEvent, Kind> : never;

type Narrowed<Event extends EngineEvent, Kind> = Event extends unknown
  ? Kind extends Event["kind"]
    ? Event & { readonly kind: Kind }
    : never
  : never;

/** The listeners of an engine. Each runs in the asynchronous context of its `on` call. If one throws, the error is logged and the others are still called. */
export class EventHub {
  readonly #log: Log;
  readonly #listeners = new Map<EngineEventKind, Set<(event: EngineEvent) => void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  on<Kind extends EngineEventKind>(kind: Kind, listener: (event: EventOf<Kind>) => void): () => void {
    const all = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, all);
    const context = currentContext();
    const own = (event: EngineEvent): void => context.runInAsyncScope(() => listener(event as EventOf<Kind>));
    all.add(own);
    return () => all.delete(own);
  }

  hasListener(kind: EngineEventKind): boolean {
    return (this.#listeners.get(kind)?.size ?? 0) > 0;
  }

  emit(event: EngineEvent): void {
    for (const listener of this.#listeners.get(event.kind) ?? []) {
      try {
        listener(event);
      } catch (error) {
        this.#log("error", "event listener threw", { event: event.kind, error: String(error) });
      }
    }
  }
}

function statusEvent(
  run: Pick<Run, "id" | "workflow">,
  status: Extract<Status, "completed" | "failed" | "cancelled" | "paused" | "compensating">,
  error: Error | null,
): EngineEvent {
  return { kind: `run.${status}`, runId: run.id, workflow: run.workflow, error };
}

/** The end of a run. */
export interface RunEnd {
  readonly status: TerminalStatus;
  readonly outcome: Payload;
}

/** Events with no data but the run. */
type PlainKind =
  | "run.started"
  | "run.claimed"
  | "run.suspended"
  | "run.woken"
  | "run.continued"
  | "run.resumed"
  | "run.reopened"
  | "run.released";

type RunName = Pick<Run, "id" | "workflow">;

/** Emits events for commits, if they have listeners, and reports ends of runs to their waiters. */
export class EventPublisher {
  readonly #hub: EventHub;
  readonly #codec: Codec;
  readonly #log: Log;
  readonly #failures: FailureLog;
  /** Null means that the run is paused. */
  readonly #onEnd: (runId: string, end: RunEnd | null) => void;

  constructor(parts: {
    readonly hub: EventHub;
    readonly codec: Codec;
    readonly log: Log;
    readonly failures: FailureLog;
    readonly onEnd: (runId: string, end: RunEnd | null) => void;
  }) {
    this.#hub = parts.hub;
    this.#codec = parts.codec;
    this.#log = parts.log;
    this.#failures = parts.failures;
    this.#onEnd = parts.onEnd;
  }

  event(event: EngineEvent): void {
    if (event.kind === "worker.lapsed") this.#failures.leaseLost();
    this.#hub.emit(event);
  }

  plain(kind: PlainKind, run: RunName): void {
    if (this.#hub.hasListener(kind)) this.#hub.emit({ kind, runId: run.id, workflow: run.workflow });
  }

  records(run: RunName, op: AppendOp): void {
    for (const record of op.records) {
      if (record.kind === "warning") this.#warned(run, record);
      else if (isFailedStep(record)) this.#failures.stepFailed(run, record, () => this.#errorOf(record.payload));
    }
    if (op.undo === "underWay") this.#stopped(run, op.records);
    if (this.#hub.hasListener("rollback")) for (const record of op.records) this.#rolledBack(run, record);
    if (!this.#hub.hasListener("record")) return;
    for (const record of op.records) this.#hub.emit({ kind: "record", runId: run.id, workflow: run.workflow, record });
  }

  /** The compensation of the run starts. */
  compensating(run: RunName, reason: Payload): void {
    if (this.#hub.hasListener("run.compensating"))
      this.#hub.emit(statusEvent(run, "compensating", this.#errorOf(reason)));
  }

  /** The compensation of the run ended, and so did the run. */
  compensated({ id: runId, workflow }: RunName, { outcome }: RunEnd): void {
    if (!this.#hub.hasListener("run.compensated")) return;
    this.#hub.emit({ kind: "run.compensated", runId, workflow, failures: rollbackFailures(this.#errorOf(outcome)) });
  }

  incident(run: RunName, { element, reason, message }: ProgramIncident): void {
    this.#failures.incident(run, { element, reason, message });
    this.#hub.emit({ kind: "run.incident", runId: run.id, workflow: run.workflow, element, reason, message });
  }

  ended(run: RunName, end: RunEnd): void {
    this.#onEnd(run.id, end);
    if (end.status === "failed") this.#failures.runFailed(run, () => this.#errorOf(end.outcome));
    if (!this.#hub.hasListener(`run.${end.status}`)) return;
    this.#hub.emit(statusEvent(run, end.status, end.status === "completed" ? null : this.#errorOf(end.outcome)));
  }

  paused(run: RunName, reason: Payload): void {
    this.#onEnd(run.id, null);
    if (this.#hub.hasListener("run.paused")) this.#hub.emit(statusEvent(run, "paused", this.#errorOf(reason)));
  }

  /** A session committed a new state of its run. */
  turnEnded(run: RunName, state: RunState, wasCompensated: boolean): void {
    switch (state.status) {
      case "completed":
      case "failed":
      case "cancelled":
        if (wasCompensated) this.compensated(run, state);
        this.ended(run, state);
        return;
      case "paused":
        this.paused(run, state.reason);
        return;
      case "continued":
      case "released":
        this.plain(`run.${state.status}`, run);
        return;
      case "running":
      case "suspended":
      case "resumed":
      case "compensating":
      case "reopened":
      case "restarted":
        return;
    }
  }

  #stopped(run: RunName, records: readonly JournalRecord[]): void {
    const stop = records.find(({ kind }) => kind === "compensate");
    if (stop !== undefined) this.compensating(run, stop.payload);
  }

  #rolledBack({ id: runId, workflow }: RunName, { kind, location, outcome, payload }: JournalRecord): void {
    if (kind !== "rollback") return;
    const step = location.slice(0, location.lastIndexOf("/"));
    const error = outcome === "failed" ? this.#errorOf(payload) : null;
    this.#hub.emit({ kind, runId, workflow, step, error });
  }

  hasListener(kind: EngineEventKind): boolean {
    return this.#hub.hasListener(kind);
  }

  /** Warnings are durable records, so each is published once. */
  #warned({ id: runId, workflow }: RunName, record: JournalRecord): void {
    const warning = warningOf(record);
    if (warning === null) return;
    const { limit, percent } = warning;
    this.#log("warn", "run is close to a limit", { run: runId, workflow, limit, percent });
    this.#hub.emit({ kind: "run.warning", runId, workflow, limit, percent });
  }

  #errorOf(failure: Payload): Error | null {
    if (failure === null) return null;
    const { value, unreadable } = readingOf<Failure>(this.#codec, failure, "the failure");
    return unreadable ?? toError(value);
  }
}
