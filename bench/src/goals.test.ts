import { describe, expect, it } from "vitest";
import { atLeast, atMost, figure, figureOf, summarize } from "./figure.mjs";
import { table } from "./table.mjs";
import { workloads } from "./workloads.mjs";

/** Tests of summaries and goals. Nothing is measured here. */

describe("a figure over several rounds", () => {
  it("the median of a figure is compared with its bar and its target", () => {
    const rounds = [0.3, 0.2, 0.9].map((value) => [figure("share", value, "ratio", atLeast(0.25, 0.35))]);
    expect(summarize(rounds)).toMatchObject([{ median: 0.3, barMet: true, targetMet: false }]);
    expect(table("W1", summarize(rounds))).toContain("≥ 0.250  pass  ≥ 0.350  MISS");
  });

  it("a figure that could not be measured meets no goal", () => {
    const [summary] = summarize([[figure("bytes", null, "bytes", atMost(10, 5))]]);
    expect(summary).toMatchObject({ barMet: false, targetMet: false });
    expect(table("W1", [summary])).toContain("–");
  });

  it("a figure without goals has neither a bar nor a target", () => {
    const [free, aimed] = summarize([[figure("a", 1, "ms"), figure("b", 1, "ms", atMost(null, 2))]]);
    expect(free).toMatchObject({ barMet: null, targetMet: null });
    expect(aimed).toMatchObject({ barMet: null, targetMet: true });
  });

  it("the median of a figure uses the measured rounds, and its row names the failed ones", () => {
    const rounds = [figureOf({ failure: "gone" }, "peer steps/s", null, "count"), figure("peer steps/s", 5, "count")];
    const summaries = summarize(rounds.map((each) => [each]));
    expect(summaries).toMatchObject([{ median: 5, failures: ["gone"] }]);
    expect(table("W1", summaries)).toContain("peer steps/s (failed in 1 of 2 rounds: gone)");
  });

  it("a figure without goals is omitted if it could not be measured", () => {
    expect(summarize([[figure("server CPU", null, "micros"), figure("steps", 1, "count")]])).toMatchObject([
      { name: "steps" },
    ]);
  });
});

/** Returns a number for every property of a result. */
const anything = new Proxy({}, { get: () => new Proxy({}, { get: () => 1 }) });

function goalsOf(store: string): readonly string[] {
  return workloads(store, { quick: false, brief: false }).flatMap(({ name, figures }) =>
    figures(anything).flatMap(({ name: line, goals }: { name: string; goals?: Record<string, unknown> }) =>
      goals === undefined ? [] : [`${name} ${line.trim()}: ${goals.kind} ${goals.bar} ${goals.target}`],
    ),
  );
}

describe("bars and targets", () => {
  it("the memory workloads have these goals", () => {
    expect(goalsOf("memory")).toEqual([
      "W1 ÷ the plain loop: atLeast null 0.15",
      "W1 event-loop delay, p99: below null 20",
    ]);
  });

  it("the SQLite workloads have these goals", () => {
    expect(goalsOf("sqlite")).toEqual([
      "W1 ÷ raw rows: atLeast 0.25 0.35",
      "W1 ÷ openworkflow, its better: atLeast 25 40",
      "W1 ÷ Rivet's engine, its better: atLeast null 10",
      "W1 CPU a step: atMost null 25",
      "W1 database bytes a run: atMost null 1536",
      "W1 event-loop delay, p99: below null 20",
      "W1c ÷ W1: atLeast 0.75 null",
      "W2 in commits: atMost 1.5 1.25",
      "W3 in commits: atMost null 3",
      "W3 in commits: atMost 3 null",
      "W4 in commits: atMost 4 3",
      "W4 in commits: atMost null 12",
      "W4s lateness, p99: atMost 10 5",
      "W5 20,000 records: records/s, code entered → resumed: atLeast 200000 300000",
      "W5loop last tenth ÷ first: atMost 1.1 null",
      "W5wake ÷ after 10: atMost null 1.1",
      "W6 10,000 hot: heap a run: atMost 8192 null",
      "W6 RSS a run: atMost null 5120",
      "W6 idle CPU: below 0.02 null",
      "W6 100,000 cold: heap gained over the second half: atMost 4194304 null",
      "W6 idle CPU: below 0.02 null",
      "W7 last tenth ÷ first: atMost 1.1 null",
      "W7 records in the journal, at most: atMost 100 null",
      "W7 heap gained from the first tenth to the last: atMost 4194304 null",
    ]);
  });

  it("the PostgreSQL workloads have these goals", () => {
    expect(goalsOf("postgres")).toEqual([
      "W1 ÷ raw rows: atLeast 0.12 0.18",
      "W1 ÷ the best TypeScript peer: atLeast 12 18",
      "W1 ÷ Restate's server, its better: atLeast null 10",
      "W1 statements a step: below 0.05 null",
      "W1 commits a step: below 0.05 null",
      "W1 database bytes a run: atMost null 2560",
      "W1 CPU a step, both: atMost null 45",
      "W1 event-loop delay, p99: below null 20",
      "W1c ÷ W1: atLeast 0.75 null",
      "W2 in commits: atMost 2 1.6",
      "W3 in commits: atMost 4 3",
      "W4 in commits: atMost 5 4",
      "W4 in commits: atMost null 12",
      "W4x in commits: atMost 10 8",
      "W4s lateness, p99: atMost null 5",
      "W6 RSS a run: atMost null 5120",
      "W5 20,000 records: records/s, code entered → resumed: atLeast null 300000",
      "W5loop last tenth ÷ first: atMost null 1.1",
      "W5wake ÷ after 10: atMost null 1.1",
      "scale5ms ÷ one worker: atLeast 1.7 null",
    ]);
  });

  it("the Redis workloads have these goals", () => {
    expect(goalsOf("redis")).toEqual([
      "W1 ÷ raw entries: atLeast 0.3 0.4",
      "W1 event-loop delay, p99: below null 20",
      "W1c ÷ W1: atLeast 0.75 null",
    ]);
  });
});
