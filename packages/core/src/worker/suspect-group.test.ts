import { describe, expect, it } from "vitest";
import { emptyAppend } from "../model/transition.ts";
import type { ClaimedRun } from "../rules/tables.ts";
import { newRun } from "../testing/store-contract/builders.ts";
import { createdRun } from "./start-queue.ts";
import { SuspectGroup } from "./suspect-group.ts";

function suspect(id: string, claims: number): ClaimedRun {
  return { ...createdRun(newRun(id)).run, claims, isSuspect: true };
}

/** A group, and which runs its worker admits. */
function stage() {
  const state = {
    isIdle: true,
    admitted: null as readonly string[] | null,
    cleared: 0,
    now: 0,
    alarms: [] as (() => void)[],
  };
  const group = new SuspectGroup({
    sessions: {
      admitOnly: (runIds) => {
        state.admitted = runIds === null ? null : [...runIds];
      },
    },
    isIdle: () => state.isIdle,
    clock: {
      now: () => state.now,
      wakeAt: (_at, wake) => {
        state.alarms.push(wake);
        return () => undefined;
      },
    },
    leaseMs: 1_000,
    events: {
      onSuspectsCleared: () => {
        state.cleared += 1;
      },
    },
  });
  return { state, group };
}

describe("SuspectGroup", () => {
  it("an idle worker that skipped runs admits none while it claims, and all when it got no lone suspect", () => {
    const { state, group } = stage();
    expect(group.claimStarts()).toMatchObject({ idle: false });
    group.skipped(true);
    expect(state.cleared).toBe(1);
    const limit = group.claimStarts();
    expect([limit.idle, state.admitted]).toEqual([true, []]);
    group.claimEnded(limit);
    expect(state.admitted).toBe(null);
  });

  it("a worker that executes or loads a run does not count as idle before ten leases", () => {
    const { state, group } = stage();
    state.isIdle = false;
    group.skipped(true);
    state.now = 9_999;
    expect([group.claimStarts().idle, state.admitted]).toEqual([false, null]);
    state.now = 10_000;
    expect(group.claimStarts().idle).toBe(true);
    expect(group.claimStarts().idle).toBe(false);
  });

  it("a lone suspect is the only admitted run until it made progress", () => {
    const { state, group } = stage();
    group.add([suspect("r", 4)]);
    expect([state.admitted, group.limit]).toEqual([["r"], { claims: 1, held: 1, max: 0, idle: false }]);
    group.committed(emptyAppend("r", 1));
    expect(state.admitted).toEqual(["r"]);
    group.remove("r");
    expect([state.admitted, state.cleared]).toEqual([null, 1]);
  });

  it("a suspect in its third claim, or in a group, is not the only admitted run", () => {
    const { state, group } = stage();
    group.add([suspect("r", 3)]);
    expect(state.admitted).toBe(null);
    group.remove("r");
    group.add([suspect("a", 4), suspect("b", 4)]);
    expect(state.admitted).toBe(null);
  });

  it("a list of owned runs that is older than the claim does not end the time alone, a second one does", () => {
    const { state, group } = stage();
    group.add([suspect("r", 4)]);
    group.keep([]);
    group.keep([{ id: "r", epoch: 1 }]);
    group.keep([]);
    expect(state.admitted).toEqual(["r"]);
    group.keep([]);
    expect(state.admitted).toBe(null);
  });

  it("all runs are admitted when the time alone is over, and the next claim returns no run that lost a worker", () => {
    const { state, group } = stage();
    group.add([suspect("r", 4)]);
    for (const wake of state.alarms) wake();
    expect([state.admitted, state.cleared]).toEqual([null, 1]);
    expect(group.claimStarts()).toEqual({ claims: 1, held: 1, max: 0, idle: false });
  });
});
