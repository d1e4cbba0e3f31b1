import { atLeast, atMost, below, figure } from "../figure.mjs";
import { claimed } from "./claimed.mjs";
import { loop, memory, replay, rounds, wakeAfter } from "./histories.mjs";
import { latency, sequence, sleepers, wake } from "./latencies.mjs";
import { rawOf, windowOf, withRaw } from "./pace.mjs";
import { bestOf, peerFigures, peerParts, ratioName } from "./peers.mjs";
import { between } from "./workload.mjs";

/**
 * Workloads on SQLite, with `synchronous=FULL` on both sides of every ratio.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function sqliteWorkloads(pace) {
  return [
    throughput(pace),
    claimed(pace, { fullMs: 4_000, raw: "raw/sqlite-limits", rawMs: 800, rows: "rows/s in batches of 100" }),
    sequence(atMost(1.5, 1.25)),
    latency(pace, { ran: atMost(null, 3), result: atMost(3) }),
    wake(pace, { p50: atMost(4, 3), p99: atMost(null, 12) }),
    sleepers(atMost(10, 5)),
    replay(pace, atLeast(200_000, 300_000)),
    loop(pace, atMost(1.1)),
    wakeAfter(pace),
    memory(pace, { heap: atMost(8_192), idle: below(0.02), growth: atMost(4 * 2 ** 20) }),
    ...(pace.brief ? [] : [rounds(pace)]),
  ];
}

const OPENWORKFLOW = { name: "openworkflow", title: "openworkflow", briefly: 100 };
const RIVET = { name: "rivet", title: "Rivet's engine", briefly: 100 };

/** @param {Pace} pace @returns {Workload} */
function throughput(pace) {
  const times = windowOf(pace, 4_000);
  const raw = (name) => ({ name, module: "raw/sqlite-limits", options: rawOf(pace, 800) });
  const pawl = (name, inFlight) => ({ name, module: "pawl/throughput", options: { ...times, inFlight } });
  const counting = { warmMs: 500, windowMs: 10_000, inFlight: 1_000, counting: true };
  const runs = pace.brief ? 600 : pace.quick ? 1_500 : 3_000;
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps, synchronous=FULL",
    parts: withRaw(pace, raw, [
      pawl("pawl1000", 1_000),
      ...peerParts(pace, OPENWORKFLOW, (inFlight) => ({
        module: "openworkflow/throughput",
        options: { ...times, inFlight, runs: runs + 2 * inFlight },
      })),
      ...peerParts(pace, RIVET, (inFlight) => ({ module: "rivet/throughput", options: { ...times, inFlight } })),
      pawl("pawl100", 100),
      ...(pace.brief ? [] : [{ name: "counted", module: "pawl/throughput", options: counting }]),
    ]),
    figures: (results) => throughputFigures(pace, results),
  };
}

/** @param {Pace} pace @param {Readonly<Record<string, any>>} results */
function throughputFigures(pace, results) {
  const { raw: before, rawAfter, pawl1000, pawl100, counted } = results;
  const rows = between(before.rowsPerSecond, rawAfter?.rowsPerSecond);
  const against = (peer, { stepsPerSecond }, goals) =>
    figure(ratioName(pace, peer), stepsPerSecond / bestOf(results, peer), "ratio", goals);
  return [
    figure("raw rows/s in batches of 100", rows, "count"),
    figure("raw single commit", between(before.commitMs, rawAfter?.commitMs), "ms"),
    figure("share of a core that a process gets", between(before.coreShare, rawAfter?.coreShare), "percent"),
    figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.25, 0.35)),
    against(OPENWORKFLOW, pawl1000, atLeast(25, 40)),
    against(RIVET, pawl1000, atLeast(null, 10)),
    figure("  CPU a step", pawl1000.cpuMicrosPerStep, "micros", atMost(null, 25)),
    figure("  commits a step", counted?.commitsPerStep, "ratio"),
    figure("  statements a step", counted?.statementsPerStep, "ratio"),
    figure("  database bytes a run", pawl1000.bytesPerRun, "bytes", atMost(null, 1_536)),
    figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms", below(null, 20)),
    figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl100.stepsPerSecond / rows, "ratio"),
    against(OPENWORKFLOW, pawl100),
    against(RIVET, pawl100),
    figure("  CPU a step", pawl100.cpuMicrosPerStep, "micros"),
    ...peerFigures(pace, OPENWORKFLOW, results, costs),
    ...peerFigures(pace, RIVET, results, costs),
  ];
}

/** @param {any} peer */
function costs({ cpuMicrosPerStep, commitsPerStep, bytesPerRun }) {
  return [
    figure("  CPU a step", cpuMicrosPerStep, "micros"),
    figure("  commits a step", commitsPerStep, "ratio"),
    figure("  database bytes a run", bytesPerRun, "bytes"),
  ];
}
