import { type Failure, toError } from "../model/failure.ts";
import type { AppendOp } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { LimitName } from "../model/policy.ts";
import type { JournalRecord } from "../model/record.ts";
import { type RollbackFailure, rollbackFailures } from "../model/rollback-failure.ts";
import type { Payload, Run, Status, TerminalStatus } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import { warningOf } from "../runner/limits.ts";
import type { Log } from "../runtime/log.ts";

/** What an engine tells those who listen: every transition that it commits, and how it is doing itself. */
export type EngineEvent =
  | {
      readonly kind:
        | "run.started"
        | "run.claimed"
        | "run.suspended"
        | "run.woken"
        | "run.continued"
        | "run.resumed"
        /** It was rewound, retried or migrated, and goes on. */
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
  /** A step was undone; with an error: its rollback failed for good. */
  | {
      readonly kind: "rollback";
      readonly runId: string;
      readonly workflow: string;
      readonly step: string;
      readonly error: Error | null;
    }
  /** Everything was undone but these; told before the run's end is. */
  | {
      readonly kind: "run.compensated";
      readonly runId: string;
      readonly workflow: string;
      readonly failures: readonly RollbackFailure[];
    }
  /** A run has used up so much of a limit; at 100 % it fails. */
  | {
      readonly kind: "run.warning";
      readonly runId: string;
      readonly workflow: string;
      readonly limit: LimitName;
      readonly percent: number;
    }
  /** This worker's hold on the run is over: another has it, or it was cancelled or paused from outside. */
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
  /** The worker was silent for longer than its lease and let go of its runs. */
  | { readonly kind: "worker.lapsed"; readonly worker: string }
  | { readonly kind: "engine.broken"; readonly error: unknown };

export type EngineEventKind = EngineEvent["kind"];
/** The event of one kind, also where several kinds look alike. */
export type EventOf<Kind extends EngineEventKind> = Kind extends unknown ? Narrowed<EngineEvent, Kind> : never;

type Narrowed<Event extends EngineEvent, Kind> = Event extends unknown
  ? Kind extends Event["kind"]
    ? Event & { readonly kind: Kind }
    : never
  : never;

/** Who listens to what. A listener that throws is logged and harms nobody. */
export class EventHub {
  readonly #log: Log;
  readonly #listeners = new Map<EngineEventKind, Set<(event: EngineEvent) => void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  on<Kind extends EngineEventKind>(kind: Kind, listener: (event: EventOf<Kind>) => void): () => void {
    const all = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, all);
    const own = (event: EngineEvent): void => listener(event as EventOf<Kind>);
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
        this.#log("error", `a listener of ${event.kind} threw`, { error: String(error) });
      }
    }
  }
}

/** The event that tells of a run's new status. */
export function statusEvent(
  run: Pick<Run, "id" | "workflow">,
  status: Extract<Status, "completed" | "failed" | "cancelled" | "paused" | "compensating">,
  error: Error | null,
): EngineEvent {
  return { kind: `run.${status}`, runId: run.id, workflow: run.workflow, error };
}

/** How a run ended, as those who wait for it hear. */
export interface RunEnd {
  readonly status: TerminalStatus;
  readonly outcome: Payload;
}

/** The events that tell no more than which run it was. */
type PlainKind =
  | "run.started"
  | "run.claimed"
  | "run.suspended"
  | "run.woken"
  | "run.continued"
  | "run.resumed"
  | "run.reopened"
  | "run.released";

/** Which run it is. */
type RunName = Pick<Run, "id" | "workflow">;

/** Turns what was committed into events, where somebody listens, and tells those who wait for an end. */
export class EventPublisher {
  readonly #hub: EventHub;
  readonly #codec: Codec;
  readonly #log: Log;
  readonly #onEnd: (runId: string, end: RunEnd) => void;

  constructor(hub: EventHub, codec: Codec, log: Log, onEnd: (runId: string, end: RunEnd) => void) {
    this.#hub = hub;
    this.#codec = codec;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  event(event: EngineEvent): void {
    this.#hub.emit(event);
  }

  plain(kind: PlainKind, run: RunName): void {
    if (this.#hub.hasListener(kind)) this.#hub.emit({ kind, runId: run.id, workflow: run.workflow });
  }

  records(run: RunName, op: AppendOp): void {
    for (const record of op.records) if (record.kind === "warning") this.#warned(run, record);
    if (op.undo === "underWay") this.#stopped(run, op.records);
    if (this.#hub.hasListener("rollback")) for (const record of op.records) this.#rolledBack(run, record);
    if (!this.#hub.hasListener("record")) return;
    for (const record of op.records) this.#hub.emit({ kind: "record", runId: run.id, workflow: run.workflow, record });
  }

  /** The run undoes what it did from here on. */
  compensating(run: RunName, reason: Payload): void {
    if (this.#hub.hasListener("run.compensating"))
      this.#hub.emit(statusEvent(run, "compensating", this.#errorOf(reason)));
  }

  /** The run has undone what it did, and ends so. */
  compensated({ id: runId, workflow }: RunName, { outcome }: RunEnd): void {
    if (!this.#hub.hasListener("run.compensated")) return;
    this.#hub.emit({ kind: "run.compensated", runId, workflow, failures: rollbackFailures(this.#errorOf(outcome)) });
  }

  ended(run: RunName, end: RunEnd): void {
    this.#onEnd(run.id, end);
    if (!this.#hub.hasListener(`run.${end.status}`)) return;
    this.#hub.emit(statusEvent(run, end.status, end.status === "completed" ? null : this.#errorOf(end.outcome)));
  }

  paused(run: RunName, reason: Payload): void {
    if (this.#hub.hasListener("run.paused")) this.#hub.emit(statusEvent(run, "paused", this.#errorOf(reason)));
  }

  /** The state that a session left its run in. */
  turnEnded(run: RunName, state: RunState, undid: boolean): void {
    switch (state.status) {
      case "completed":
      case "failed":
      case "cancelled":
        if (undid) this.compensated(run, state);
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

  /** The record is durable: so it is told once. */
  #warned({ id: runId, workflow }: RunName, record: JournalRecord): void {
    const warning = warningOf(record);
    if (warning === null) return;
    const { limit, percent } = warning;
    this.#log("warn", `a run has used ${percent} % of its ${limit}`, { run: runId, workflow, limit, percent });
    this.#hub.emit({ kind: "run.warning", runId, workflow, limit, percent });
  }

  #errorOf(failure: Payload): Error | null {
    return failure === null ? null : toError(this.#codec.decode(failure) as Failure);
  }
}
