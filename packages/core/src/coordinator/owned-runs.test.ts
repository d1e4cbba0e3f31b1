import { describe, expect, it } from "vitest";
import type { RunView } from "../model/op.ts";
import { append } from "../testing/store-contract/builders.ts";
import { OwnedRuns, type OwnedView } from "./owned-runs.ts";

const viewOf = (epoch: number): RunView => ({
  id: "r",
  status: "running",
  epoch,
  turn: 0,
  seq: 0,
  parent: null,
  undo: "none",
});

/** Owns the run in this epoch, and returns its view with one append in flight. */
function sent(owned: OwnedRuns, epoch: number): OwnedView {
  owned.own(viewOf(epoch));
  const view = owned.get("r");
  if (view === null) throw new Error("the run is not owned");
  view.inFlight += 1;
  return view;
}

const answer = (owned: OwnedRuns, view: OwnedView): void =>
  owned.answered(append("r", { epoch: view.epoch }), { kind: "applied", post: null, again: false }, view);

describe("a run that is disowned with an append in flight", () => {
  it("a run owned again in the same epoch is marked until its earlier append is answered", () => {
    const owned = new OwnedRuns();
    const first = sent(owned, 1);
    owned.disown("r");
    owned.own(viewOf(1));
    expect(owned.get("r")?.hasEarlierAppend).toBe(true);
    owned.disown("r");
    answer(owned, first);
    owned.own(viewOf(1));
    expect(owned.get("r")?.hasEarlierAppend).toBe(false);
  });

  it("a run owned again in another epoch is not marked", () => {
    const owned = new OwnedRuns();
    sent(owned, 1);
    owned.disown("r");
    owned.own(viewOf(3));
    expect(owned.get("r")?.hasEarlierAppend).toBe(false);
  });

  it("a run stays marked when an append of an older epoch is answered", () => {
    const owned = new OwnedRuns();
    const early = sent(owned, 1);
    owned.disown("r");
    sent(owned, 3);
    owned.disown("r");
    answer(owned, early);
    owned.own(viewOf(3));
    expect(owned.get("r")?.hasEarlierAppend).toBe(true);
  });
});
