import { describe, expect, it } from "vitest";
import type { Hint } from "../store/store.ts";
import { handleHint } from "./worker.ts";

/** A worker "w" with a run at rest in memory, one at work, and one that is about to begin. */
function heeded(hint: Hint): readonly string[] {
  const done: string[] = [];
  handleHint(hint, {
    worker: "w",
    sessions: new Map([
      ["resting", { isParked: true }],
      ["working", { isParked: false }],
    ]),
    loader: {
      isStarting: (runId) => runId === "expected",
      reload: (runId) => void done.push(`read ${runId}`),
    },
    loop: { requestPoll: () => void done.push("look") },
  });
  return done;
}

describe("hints", () => {
  it("a worker looks where it is not told which runs, or whose", () => {
    expect(heeded({ runIds: null })).toEqual(["look"]);
    expect(heeded({ runIds: ["resting"] })).toEqual(["look"]);
    expect(heeded({ runIds: ["a", "b"] })).toEqual(["look"]);
  });

  it("what has come for its own hot runs is read at once", () => {
    expect(heeded({ runIds: ["resting", "working"], owners: ["w", "w"] })).toEqual(["read resting", "read working"]);
  });

  it("its own that is not in memory has to be looked for", () => {
    expect(heeded({ runIds: ["evicted"], owners: ["w"] })).toEqual(["look"]);
  });

  it("what nobody owns is looked for, and what another worker owns is not", () => {
    expect(heeded({ runIds: ["a", "b"], owners: ["other", "other"] })).toEqual([]);
    expect(heeded({ runIds: ["a", "b"], owners: ["other", null] })).toEqual(["look"]);
    expect(heeded({ runIds: ["resting"], owners: [null] })).toEqual(["look"]);
  });

  it("what it works on, or is about to, needs no hint", () => {
    expect(heeded({ runIds: ["expected"] })).toEqual([]);
    expect(heeded({ runIds: ["expected"], owners: ["w"] })).toEqual([]);
    expect(heeded({ runIds: ["working"] })).toEqual([]);
    expect(heeded({ runIds: ["working"], owners: [null] })).toEqual([]);
  });
});
