import { describe, expect, it } from "vitest";
import { chart } from "./chart.mjs";
import { atLeast, atMost, figure, summarize } from "./figure.mjs";
import { OptionError, readOptions } from "./options.mjs";
import { table } from "./table.mjs";
import { workloads } from "./workloads.mjs";

/** What is said of a measurement, and what it has to reach. Nothing is measured here. */

describe("a figure over several rounds", () => {
  it("is judged by its median, against the bar and against the target", () => {
    const rounds = [0.3, 0.2, 0.9].map((value) => [figure("share", value, "ratio", atLeast(0.25, 0.35))]);
    expect(summarize(rounds)).toMatchObject([{ median: 0.3, barMet: true, targetMet: false }]);
    expect(table("W1", summarize(rounds))).toContain("≥ 0.250  pass  ≥ 0.350  MISS");
  });

  it("misses everything when it could not be measured", () => {
    const [summary] = summarize([[figure("bytes", null, "bytes", atMost(10, 5))]]);
    expect(summary).toMatchObject({ barMet: false, targetMet: false });
    expect(table("W1", [summary])).toContain("–");
  });

  it("has neither a bar nor a target unless it was given one", () => {
    const [free, aimed] = summarize([[figure("a", 1, "ms"), figure("b", 1, "ms", atMost(null, 2))]]);
    expect(free).toMatchObject({ barMet: null, targetMet: null });
    expect(aimed).toMatchObject({ barMet: null, targetMet: true });
  });

  it("is drawn with what was wanted of it", () => {
    const figures = summarize([
      [figure("pawl steps/s", 1_000, "count"), figure("  ÷ raw", 0.3, "ratio", atLeast(0.25, 0.35))],
    ]);
    const svg = chart({ machine: "<here>", summaries: [{ store: "sqlite", name: "W1", title: "W1", figures }] });
    expect(svg).toContain("&lt;here&gt;");
    expect(svg).toContain("sqlite W1: pawl steps/s, ÷ raw: 0.300");
    expect(svg).toContain("(bar ≥ 0.250)");
    expect(svg).toContain("(target ≥ 0.350)");
  });
});

describe("options", () => {
  it.each([
    ["--store", "mongo"],
    ["--stor", "sqlite"],
    ["--rounds", "0"],
    ["--store", "sqlite", "--only", "W9"],
  ])("what there is not is refused: %s %s", (...args) => {
    expect(() => readOptions(args)).toThrow(OptionError);
  });

  it("all stores are measured unless one is named, and quickly in one round", () => {
    expect(readOptions([])).toMatchObject({ stores: ["memory", "sqlite", "postgres", "redis", "bpmn"], rounds: 3 });
    expect(readOptions(["--quick"])).toMatchObject({ brief: true, rounds: 1, name: "benchmarks" });
    expect(readOptions(["--quick", "--store", "redis"])).toMatchObject({ brief: false, rounds: 2, name: "redis" });
  });
});

/** Gives a number for everything that a part may have measured. */
const anything = new Proxy({}, { get: () => new Proxy({}, { get: () => 1 }) });

function goalsOf(store: string): readonly string[] {
  return workloads(store, { quick: false, brief: false }).flatMap(({ name, figures }) =>
    figures(anything).flatMap(({ name: line, goals }: { name: string; goals?: Record<string, unknown> }) =>
      goals === undefined ? [] : [`${name} ${line.trim()}: ${goals.kind} ${goals.bar} ${goals.target}`],
    ),
  );
}

describe("what has to be reached, and what is wanted beyond it", () => {
  it("in memory", () => {
    expect(goalsOf("memory")).toEqual([
      "W1 ÷ the plain loop: atLeast null 0.15",
      "W1 event-loop delay, p99: below null 20",
    ]);
  });

  it("on SQLite", () => {
    expect(goalsOf("sqlite")).toEqual([
      "W1 ÷ raw rows: atLeast 0.25 0.35",
      "W1 ÷ openworkflow: atLeast 25 40",
      "W1 ÷ Rivet's engine: atLeast null 10",
      "W1 CPU a step: atMost null 25",
      "W1 database bytes a run: atMost null 1536",
      "W1 event-loop delay, p99: below null 20",
      "W2 in commits: atMost 1.5 1.25",
      "W3 in commits: atMost null 3",
      "W3 in commits: atMost 3 null",
      "W4 in commits: atMost 4 3",
      "W4 in commits: atMost null 12",
      "W4s lateness, p99: atMost 10 5",
      "W5 20,000 records: records/s, code entered → goes on: atLeast 200000 300000",
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

  it("on PostgreSQL", () => {
    expect(goalsOf("postgres")).toEqual([
      "W1 ÷ raw rows: atLeast 0.12 0.18",
      "W1 ÷ the best TypeScript peer: atLeast 12 18",
      "W1 ÷ Restate's server: atLeast null 10",
      "W1 statements a step: below 0.05 null",
      "W1 commits a step: below 0.05 null",
      "W1 database bytes a run: atMost null 2560",
      "W1 CPU a step, both: atMost null 45",
      "W1 event-loop delay, p99: below null 20",
      "W2 in commits: atMost 2 1.6",
      "W3 in commits: atMost 4 3",
      "W4 in commits: atMost 5 4",
      "W4 in commits: atMost null 12",
      "W4x in commits: atMost 10 8",
      "W4s lateness, p99: atMost null 5",
      "W6 RSS a run: atMost null 5120",
      "W5 20,000 records: records/s, code entered → goes on: atLeast null 300000",
      "W5loop last tenth ÷ first: atMost null 1.1",
      "W5wake ÷ after 10: atMost null 1.1",
      "scale5ms ÷ one worker: atLeast 1.7 null",
    ]);
  });

  it("on Redis", () => {
    expect(goalsOf("redis")).toEqual(["W1 ÷ raw entries: atLeast 0.3 0.4", "W1 event-loop delay, p99: below null 20"]);
  });
});
