import { describe, expect, it } from "vitest";
import { bestOf, peerFigures, peerParts, ratioName } from "./peers.mjs";

const FULL = { quick: false, brief: false };
const BRIEF = { quick: true, brief: true };
const PEER = { name: "one", title: "One", briefly: 1_000 };
const OTHER = { name: "other", title: "Other", briefly: 100 };
const partOf = (inFlight: number): object => ({ module: "one/throughput", options: { inFlight } });

describe("a peer", () => {
  it("a peer is measured with 100 and 1,000 runs in flight, and in a brief benchmark with one of them", () => {
    const flights = (parts: readonly { name: string; options: { inFlight: number } }[]): unknown[] =>
      parts.map(({ name, options }) => [name, options.inFlight]);
    expect(flights(peerParts(FULL, PEER, partOf))).toEqual([
      ["one100", 100],
      ["one1000", 1_000],
    ]);
    expect(flights(peerParts(BRIEF, PEER, partOf))).toEqual([["one1000", 1_000]]);
  });

  it("parts of a peer are marked, because they may fail", () => {
    expect(peerParts(FULL, PEER, partOf)).toMatchObject([{ peer: true }, { peer: true }]);
  });

  it.each([
    [{ stepsPerSecond: 5 }, { stepsPerSecond: 7 }, 7],
    [{ stepsPerSecond: 9 }, { stepsPerSecond: 7 }, 9],
    [{ stepsPerSecond: 9 }, { failure: "gone" }, 9],
    [{ failure: "gone" }, { stepsPerSecond: 3 }, 3],
    [undefined, { stepsPerSecond: 3 }, 3],
    [{ failure: "gone" }, { failure: "gone" }, Number.NaN],
  ])("the better setting of a peer is compared: %o, %o", (one100, one1000, best) => {
    expect(bestOf({ one100, one1000 }, PEER)).toBe(best);
  });

  it("the best of several peers is compared", () => {
    const results = { one100: { stepsPerSecond: 4 }, other1000: { stepsPerSecond: 6 } };
    expect(bestOf(results, PEER, OTHER)).toBe(6);
  });

  it("a peer has a line for each setting, and the ratio names the better one", () => {
    const results = { one100: { stepsPerSecond: 4 }, one1000: { failure: "gone" } };
    const lines = peerFigures(FULL, PEER, results, () => []);
    expect(lines).toMatchObject([
      { name: "One steps/s, 100 in flight", value: 4 },
      { name: "One steps/s, 1,000 in flight", failure: "gone" },
    ]);
    expect(ratioName(FULL, PEER)).toBe("  ÷ One, its better");
    expect(ratioName(BRIEF, PEER)).toBe("  ÷ One");
  });
});
