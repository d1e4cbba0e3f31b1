import type { RunView } from "../model/op.ts";
import type { Answer, Transition } from "../model/transition.ts";

type OwnedView = { -readonly [Key in keyof RunView]: RunView[Key] };

/** What the owner knows of its runs; moves on with each commit. */
export class OwnedViews {
  readonly #views = new Map<string, OwnedView>();

  own(view: RunView): void {
    this.#views.set(view.id, { ...view });
  }

  disown(runId: string): void {
    this.#views.delete(runId);
  }

  of(runId: string): RunView | null {
    return this.#views.get(runId) ?? null;
  }

  /** What was applied is what the owner knows from here on, unless it knows better: it may have read the run again meanwhile. */
  advance(
    { runId, records, state, turn, undo }: Extract<Transition, { kind: "append" }>,
    answer: Answer,
    knew: RunView | null,
  ): void {
    const view = this.#views.get(runId);
    if (view === undefined || view !== knew || answer.kind !== "applied") return;
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
