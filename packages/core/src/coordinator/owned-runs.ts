import type { RunView } from "../model/op.ts";
import type { Answer, Append } from "../model/transition.ts";

/** The owner's view of a run. Updated by each commit. */
export type OwnedView = { -readonly [Key in keyof RunView]: RunView[Key] } & {
  /** How many appends are in flight. */
  inFlight: number;
  /** An append of an earlier view with the same epoch was in flight when this view was registered. */
  readonly hasEarlierAppend: boolean;
};

/**
 * The views of the runs that this process owns. A process may discard a run and load it again, with the same epoch, while an earlier append
 * is still in flight. If the store then answers "again" to a resent append, it may mean the earlier append and not the resent one.
 */
export class OwnedRuns {
  readonly #views = new Map<string, OwnedView>();
  /** Runs that were disowned while an append was in flight, with the epoch of that append. Under another epoch the store refuses it. */
  readonly #disowned = new Map<string, number>();

  get(runId: string): OwnedView | null {
    return this.#views.get(runId) ?? null;
  }

  own({ id, status, epoch, turn, seq, parent, undo }: RunView): void {
    // One view exists for each run in memory. Listing the fields keeps other properties of the argument out of it.
    this.#views.set(id, {
      id,
      status,
      epoch,
      turn,
      seq,
      parent,
      undo,
      inFlight: 0,
      hasEarlierAppend: this.#disowned.get(id) === epoch,
    });
  }

  disown(runId: string): void {
    const view = this.#views.get(runId);
    if (view !== undefined && view.inFlight > 0) this.#disowned.set(runId, view.epoch);
    this.#views.delete(runId);
  }

  /** Updates the view by an applied append. A view that has replaced `decidedOn` meanwhile is newer, and stays as it is. */
  answered({ runId, records, state, turn, undo }: Append, answer: Answer, decidedOn: OwnedView): void {
    decidedOn.inFlight -= 1;
    const view = this.#views.get(runId);
    if (view !== decidedOn && decidedOn.inFlight === 0 && this.#disowned.get(runId) === decidedOn.epoch)
      this.#disowned.delete(runId);
    if (view !== decidedOn || answer.kind !== "applied") return;
    view.seq += records.length;
    if (undo !== null) view.undo = undo;
    if (state === null) return;
    view.turn = turn;
    switch (state.status) {
      case "released":
      case "resumed":
      case "reopened":
      case "restarted":
        this.#views.delete(runId);
        return;
      case "continued":
        return;
      default:
        view.status = state.status;
    }
  }
}
