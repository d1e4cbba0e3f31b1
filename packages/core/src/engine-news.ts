import { type EngineEvent, type EngineEventKind, type EventHub, statusEvent } from "./engine-events.ts";
import { type Failure, toError } from "./model/failure.ts";
import type { AppendOp } from "./model/op.ts";
import type { Codec } from "./model/payload.ts";
import type { JournalRecord } from "./model/record.ts";
import { rollbackFailures } from "./model/rollback-failure.ts";
import type { Payload, Run, TerminalStatus } from "./model/run.ts";
import type { RunState } from "./model/transition.ts";
import { warningOf } from "./runner/look-at-limits.ts";
import type { Log } from "./runtime/log.ts";

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
export class EngineNews {
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
    if (this.#hub.hears(kind)) this.#hub.emit({ kind, runId: run.id, workflow: run.workflow });
  }

  records(run: RunName, op: AppendOp): void {
    for (const record of op.records) if (record.kind === "warning") this.#warned(run, record);
    if (op.undo === "underWay") this.#stopped(run, op.records);
    if (this.#hub.hears("rollback")) for (const record of op.records) this.#rolledBack(run, record);
    if (!this.#hub.hears("record")) return;
    for (const record of op.records) this.#hub.emit({ kind: "record", runId: run.id, workflow: run.workflow, record });
  }

  /** The run undoes what it did from here on. */
  compensating(run: RunName, reason: Payload): void {
    if (this.#hub.hears("run.compensating")) this.#hub.emit(statusEvent(run, "compensating", this.#errorOf(reason)));
  }

  /** The run has undone what it did, and ends so. */
  compensated({ id: runId, workflow }: RunName, { outcome }: RunEnd): void {
    if (!this.#hub.hears("run.compensated")) return;
    this.#hub.emit({ kind: "run.compensated", runId, workflow, failures: rollbackFailures(this.#errorOf(outcome)) });
  }

  ended(run: RunName, end: RunEnd): void {
    this.#onEnd(run.id, end);
    if (!this.#hub.hears(`run.${end.status}`)) return;
    this.#hub.emit(statusEvent(run, end.status, end.status === "completed" ? null : this.#errorOf(end.outcome)));
  }

  paused(run: RunName, reason: Payload): void {
    if (this.#hub.hears("run.paused")) this.#hub.emit(statusEvent(run, "paused", this.#errorOf(reason)));
  }

  /** The state that a session left its run in. */
  left(run: RunName, state: RunState, undid: boolean): void {
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

  hears(kind: EngineEventKind): boolean {
    return this.#hub.hears(kind);
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
