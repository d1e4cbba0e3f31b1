import type { AppendOp } from "../model/op.ts";
import type { ClaimedRun, OwnedRun, SuspectLimit } from "../rules/tables.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A run that lost its worker so often without progress, beside others, is a suspect: it may crash its worker. */
export const SUSPECT_CLAIMS = 2;

/**
 * The suspects that this worker executes: one group at a time.
 *
 * 1. The next group is claimed when every suspect of the group made progress or left. A place that becomes free earlier is taken by
 *    another suspect, so a long step does not hold back the others, and the group never grows.
 * 2. A suspect that lost its worker when it was alone stays alone: beside it, this worker claims no run that lost a worker before.
 */
export class SuspectGroup {
  readonly #events: Pick<WorkerEvents, "onSuspectsCleared">;
  readonly #suspects = new Set<string>();
  /** The number of suspects with which the group began. */
  #size = 0;
  #wasAlone = false;

  constructor(events: Pick<WorkerEvents, "onSuspectsCleared">) {
    this.#events = events;
  }

  /** How many more suspects this worker may claim. */
  get limit(): SuspectLimit {
    const held = this.#suspects.size;
    if (held === 0) return { claims: SUSPECT_CLAIMS, held, max: null };
    if (this.#wasAlone) return { claims: 1, held, max: 0 };
    return { claims: SUSPECT_CLAIMS, held, max: Math.max(0, this.#size - held) };
  }

  add(runs: readonly ClaimedRun[]): void {
    if (this.#suspects.size === 0 && runs.length > 0) {
      this.#size = runs.length;
      // The first claim in which a run is alone is its third.
      this.#wasAlone = runs.length === 1 && runs.every(({ claims }) => claims > SUSPECT_CLAIMS + 1);
    }
    for (const { id } of runs) this.#suspects.add(id);
  }

  /** A run that only changed its waits made no progress: the store still counts its claims. */
  committed({ runId, records, state }: AppendOp): void {
    if (records.length > 0 || (state !== null && state.status !== "running")) this.remove(runId);
  }

  /** The run made progress, or left this worker. */
  remove(runId: string): void {
    // Called at each commit of each run; there is hardly ever a suspect.
    if (this.#suspects.size === 0 || !this.#suspects.delete(runId)) return;
    const held = this.#suspects.size;
    if (held === 0 || held === this.#size >> 1) this.#events.onSuspectsCleared();
  }

  /** Removes the suspects that are not among the runs that the store lists as owned. */
  keep(owned: readonly OwnedRun[]): void {
    if (this.#suspects.size === 0) return;
    const ids = new Set(owned.map(({ id }) => id));
    for (const runId of [...this.#suspects]) if (!ids.has(runId)) this.remove(runId);
  }
}
