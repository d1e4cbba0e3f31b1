import type { RunView } from "../model/op.ts";
import type { Answer, Append } from "../model/transition.ts";

/** What the owner knows of its run; moves on with each commit. */
export type OwnedView = { -readonly [Key in keyof RunView]: RunView[Key] } & {
  /** How many appends are on their way. */
  inFlight: number;
  /** One that was decided on what was known before was on its way when this became known. */
  readonly isSecond: boolean;
};

/**
 * What this process knows of the runs that it owns. It may let go of a run and have it again, with the same epoch, while an append from
 * before is still on its way: then what the store has already may be that, and not what is sent a second time.
 */
export class OwnedRuns {
  readonly #views = new Map<string, OwnedView>();
  /** Runs that were let go while an append was on its way, with its epoch: one of another epoch can't stand in the place of a later one. */
  readonly #left = new Map<string, number>();

  get(runId: string): OwnedView | null {
    return this.#views.get(runId) ?? null;
  }

  own({ id, status, epoch, turn, seq, parent, undo }: RunView): void {
    // There is one for each run in memory: spelled out it takes no more than its fields.
    this.#views.set(id, {
      id,
      status,
      epoch,
      turn,
      seq,
      parent,
      undo,
      inFlight: 0,
      isSecond: this.#left.get(id) === epoch,
    });
  }

  disown(runId: string): void {
    const view = this.#views.get(runId);
    if (view !== undefined && view.inFlight > 0) this.#left.set(runId, view.epoch);
    this.#views.delete(runId);
  }

  /** What was applied is what is known from here on, unless more is known: the run may have been read again meanwhile. */
  answered({ runId, records, state, turn, undo }: Append, answer: Answer, knew: OwnedView): void {
    knew.inFlight -= 1;
    const view = this.#views.get(runId);
    if (view !== knew && knew.inFlight === 0 && this.#left.get(runId) === knew.epoch) this.#left.delete(runId);
    if (view !== knew || answer.kind !== "applied") return;
    view.seq += records.length;
    if (undo !== null) view.undo = undo;
    if (state === null) return;
    view.turn = turn;
    switch (state.status) {
      case "released":
      case "resumed":
      case "reopened":
        this.#views.delete(runId);
        return;
      case "continued":
        return;
      default:
        view.status = state.status;
    }
  }
}
