import { atLeast, atMost, below, figure } from "../figure.mjs";
import { latency, sequence, sleepers, wake } from "./latencies.mjs";

/**
 * What is measured on SQLite, with `synchronous=FULL` on both sides of every ratio.
 *
 * @import { Part } from "../spawn.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {string} name @returns {Part} */
const raw = (name) => ({ name, module: "raw/sqlite-limits", options: { singleMs: 500, batchMs: 800 } });

/** @param {{ quick: boolean }} options @returns {readonly Workload[]} */
export function sqliteWorkloads({ quick }) {
  return [
    throughput(quick),
    sequence(atMost(1.5)),
    latency({ quick, result: atMost(3) }),
    wake(atMost(4)),
    sleepers(atMost(10)),
    replay(),
    loop(quick),
    memory(quick),
    rounds(quick),
  ];
}

/** @param {boolean} quick @returns {Workload} */
function throughput(quick) {
  const times = { warmMs: 1_500, windowMs: quick ? 2_000 : 4_000 };
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps, synchronous=FULL",
    parts: [
      raw("raw"),
      { name: "pawl1000", module: "pawl/throughput", options: { ...times, inFlight: 1_000 } },
      {
        name: "peer",
        module: "openworkflow/throughput",
        options: { ...times, inFlight: 100, runs: quick ? 1_500 : 3_000 },
      },
      { name: "pawl100", module: "pawl/throughput", options: { ...times, inFlight: 100 } },
      {
        name: "counted",
        module: "pawl/throughput",
        options: { warmMs: 500, windowMs: 1_000, inFlight: 1_000, counting: true },
      },
      raw("rawAfter"),
    ],
    figures: ({ raw: before, rawAfter, pawl1000, pawl100, counted, peer }) => {
      const rows = (before.rowsPerSecond + rawAfter.rowsPerSecond) / 2;
      return [
        figure("raw rows/s in batches of 100", rows, "count"),
        figure("raw single commit", before.commitMs, "ms"),
        figure("share of a core that a process gets", (before.coreShare + rawAfter.coreShare) / 2, "percent"),
        figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
        figure("  ÷ raw rows", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.25)),
        figure("  ÷ openworkflow", pawl1000.stepsPerSecond / peer.stepsPerSecond, "ratio", atLeast(25)),
        figure("  CPU a step", pawl1000.cpuMicrosPerStep, "micros"),
        figure("  commits a step", counted.commitsPerStep, "ratio"),
        figure("  statements a step", counted.statementsPerStep, "ratio"),
        figure("  database bytes a run", pawl1000.bytesPerRun, "bytes"),
        figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
        figure("  ÷ raw rows", pawl100.stepsPerSecond / rows, "ratio"),
        figure("  ÷ openworkflow", pawl100.stepsPerSecond / peer.stepsPerSecond, "ratio"),
        figure("  CPU a step", pawl100.cpuMicrosPerStep, "micros"),
        figure("openworkflow steps/s, 100 in flight", peer.stepsPerSecond, "count"),
        figure("  CPU a step", peer.cpuMicrosPerStep, "micros"),
        figure("  database bytes a run", peer.bytesPerRun, "bytes"),
      ];
    },
  };
}

/** @returns {Workload} */
function replay() {
  const sizes = [1_000, 5_000, 20_000];
  return {
    name: "W5",
    title: "W5 a run is killed with its process and goes on in another",
    parts: sizes.flatMap((records) => [
      { name: `${records}/recorded`, module: "pawl/record-run", options: { records }, killed: true },
      { name: `${records}/replayed`, module: "pawl/replay-run", options: { records }, afterMs: 1_500 },
    ]),
    figures: (results) =>
      sizes.flatMap((records) => {
        const { recordsPerSecond, tookMs, restartMs, openToEnterMs } = results[`${records}/replayed`];
        const bar = records === 20_000 ? atLeast(200_000) : undefined;
        const count = records.toLocaleString("en-US");
        return [
          figure(`${count} records: records/s, code entered → goes on`, recordsPerSecond, "count", bar),
          figure("  code entered → goes on", tookMs, "ms"),
          figure("  open → code entered", openToEnterMs, "ms"),
          figure("  process start → code goes on", restartMs, "ms"),
        ];
      }),
  };
}

/** @param {boolean} quick @returns {Workload} */
function loop(quick) {
  return {
    name: "W5loop",
    title: "W5loop 490 rounds of a step and sleep(1) on one run",
    parts: [{ name: "pawl", module: "pawl/loop", options: { rounds: 490, runs: quick ? 6 : 12 } }],
    figures: ({ pawl }) => [
      figure("a round, p50", pawl.roundMs, "ms"),
      figure("a round of the first tenth, p50", pawl.firstMs, "ms"),
      figure("a round of the last tenth, p50", pawl.lastMs, "ms"),
      figure("last tenth ÷ first", pawl.growth, "ratio", atMost(1.1)),
    ],
  };
}

/** @param {boolean} quick @returns {Workload} */
function memory(quick) {
  const cold = quick ? 40_000 : 100_000;
  const idleMs = quick ? 5_000 : 10_000;
  return {
    name: "W6",
    title: "W6 runs suspended on a message",
    parts: [
      { name: "hot", module: "pawl/memory", options: { runs: 10_000, hotRuns: 20_000, idleMs } },
      { name: "cold", module: "pawl/memory", options: { runs: cold, hotRuns: 100, idleMs } },
    ],
    figures: ({ hot, cold: rest }) => [
      figure("10,000 hot: heap a run", hot.heapPerRun, "bytes", atMost(8_192)),
      figure("  RSS a run", hot.rssPerRun, "bytes"),
      figure("  database bytes a run", hot.bytesPerRun, "bytes"),
      figure("  idle CPU", hot.idleCpu, "percent", below(0.02)),
      figure(
        `${cold.toLocaleString("en-US")} cold: heap gained over the second half`,
        rest.heapGrowth,
        "mebibytes",
        atMost(4 * 2 ** 20),
      ),
      figure("  RSS gained over the second half", rest.rssGrowth, "mebibytes"),
      figure("  idle CPU", rest.idleCpu, "percent", below(0.02)),
    ],
  };
}

/** @param {boolean} quick @returns {Workload} */
function rounds(quick) {
  const count = quick ? 20_000 : 100_000;
  return {
    name: "W7",
    title: `W7 ctx.loop: ${count.toLocaleString("en-US")} rounds of a step on one run`,
    parts: [{ name: "pawl", module: "pawl/rounds", options: { rounds: count } }],
    figures: ({ pawl }) => [
      figure("a round, p50", pawl.roundMs, "ms"),
      figure("last tenth ÷ first", pawl.growth, "ratio", atMost(1.1)),
      figure("records in the journal, at most", pawl.rowsMax, "count", atMost(100)),
      figure("heap gained from the first tenth to the last", pawl.heapGrowth, "mebibytes", atMost(4 * 2 ** 20)),
    ],
  };
}
