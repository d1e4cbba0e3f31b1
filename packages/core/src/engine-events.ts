import type { LimitName } from "./model/policy.ts";
import type { JournalRecord } from "./model/record.ts";
import type { RollbackFailure } from "./model/rollback-failure.ts";
import type { Run, Status } from "./model/run.ts";
import type { Log } from "./runtime/log.ts";

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

  hears(kind: EngineEventKind): boolean {
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
