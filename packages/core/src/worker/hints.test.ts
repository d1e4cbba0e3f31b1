import { describe, expect, it } from "vitest";
import type { Hint } from "../store/store.ts";
import { handleHint } from "./worker.ts";

/** The reactions to a hint of worker "w", which has a parked run, a working one, and one that waits to start. */
function handled(hint: Hint): readonly string[] {
  const done: string[] = [];
  handleHint(hint, {
    worker: "w",
    sessions: new Map([
      ["parked", { isParked: true }],
      ["working", { isParked: false }],
    ]),
    loader: {
      isStarting: (runId) => runId === "expected",
      reload: (runId) => void done.push(`load ${runId}`),
    },
    loop: { requestPoll: () => void done.push("poll") },
  });
  return done;
}

describe("hints", () => {
  it("a worker polls when a hint names no runs or no owners", () => {
    expect(handled({ runIds: null })).toEqual(["poll"]);
    expect(handled({ runIds: ["parked"] })).toEqual(["poll"]);
    expect(handled({ runIds: ["a", "b"] })).toEqual(["poll"]);
  });

  it("a worker reloads its own hot runs at once", () => {
    expect(handled({ runIds: ["parked", "working"], owners: ["w", "w"] })).toEqual(["load parked", "load working"]);
  });

  it("a worker polls when its own run is not in memory", () => {
    expect(handled({ runIds: ["evicted"], owners: ["w"] })).toEqual(["poll"]);
  });

  it("a worker polls for runs without an owner and ignores runs of other workers", () => {
    expect(handled({ runIds: ["a", "b"], owners: ["other", "other"] })).toEqual([]);
    expect(handled({ runIds: ["a", "b"], owners: ["other", null] })).toEqual(["poll"]);
    expect(handled({ runIds: ["parked"], owners: [null] })).toEqual(["poll"]);
  });

  it("a worker ignores hints about runs that it executes or is about to start", () => {
    expect(handled({ runIds: ["expected"] })).toEqual([]);
    expect(handled({ runIds: ["expected"], owners: ["w"] })).toEqual([]);
    expect(handled({ runIds: ["working"] })).toEqual([]);
    expect(handled({ runIds: ["working"], owners: [null] })).toEqual([]);
  });
});
