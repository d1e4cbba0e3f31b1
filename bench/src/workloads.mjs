import { atLeast, atMost, below, figure } from "./figure.mjs";

/**
 * What is measured, and how it is judged. The parts of a workload are measured one after another in each round, each in a
 * process of its own; figures are made of the parts of one round, so that a ratio compares neighbours in time.
 *
 * @import { Figure } from "./figure.mjs"
 * @import { Part } from "./spawn.mjs"
 *
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} title
 * @property {number} [roundsMax]
 * @property {readonly Part[]} parts Those that begin with the same word before a slash share a folder.
 * @property {(results: Readonly<Record<string, any>>) => readonly Figure[]} figures
 */

/** @param {string} name @returns {Part} */
const raw = (name) => ({ name, module: "raw/limits", options: { singleMs: 500, batchMs: 800 } });

/** @param {{ quick: boolean }} options @returns {readonly Workload[]} */
export function workloads({ quick }) {
  return [
    throughput(quick),
    sequence(),
    latency(quick),
    wake(),
    sleepers(),
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
function sequence() {
  return {
    name: "W2",
    title: "W2 one run of 1,000 steps, one after another",
    parts: [{ name: "pawl", module: "pawl/sequence", options: { steps: 1_000 } }],
    figures: ({ pawl }) => [
      figure("raw single commit", pawl.commitMs, "ms"),
      figure("a step, p50", pawl.stepMs, "ms"),
      figure("  in commits", pawl.stepMs / pawl.commitMs, "ratio", atMost(1.5)),
      figure("a step, p95", pawl.stepP95Ms, "ms"),
      figure("last quarter ÷ first", pawl.growth, "ratio"),
    ],
  };
}

/** @param {boolean} quick @returns {Workload} */
function latency(quick) {
  return {
    name: "W3",
    title: "W3 an idle engine gets a run of one step, 5–50 ms apart",
    parts: [{ name: "pawl", module: "pawl/latency", options: { runs: quick ? 80 : 150 } }],
    figures: ({ pawl }) => [
      figure("raw single commit, 5–50 ms apart", pawl.commitMs, "ms"),
      figure("start → step ran, p50", pawl.ranMs, "ms"),
      figure("start → step ran, p95", pawl.ranP95Ms, "ms"),
      figure("start → result, p50", pawl.resultMs, "ms"),
      figure("  in commits", pawl.resultMs / pawl.commitMs, "ratio", atMost(3)),
      figure("start → result, p95", pawl.resultP95Ms, "ms"),
    ],
  };
}

/** @returns {Workload} */
function wake() {
  return {
    name: "W4",
    title: "W4 500 runs wait for a message and get it, 20 at a time",
    parts: [{ name: "pawl", module: "pawl/wake", options: { runs: 500, atATime: 20 } }],
    figures: ({ pawl }) => [
      figure("raw single commit", pawl.commitMs, "ms"),
      figure("send → code goes on, p50", pawl.wakeMs, "ms"),
      figure("  in commits", pawl.wakeMs / pawl.commitMs, "ratio", atMost(4)),
      figure("send → code goes on, p95", pawl.wakeP95Ms, "ms"),
      figure("send → code goes on, p99", pawl.wakeP99Ms, "ms"),
    ],
  };
}

/** @returns {Workload} */
function sleepers() {
  return {
    name: "W4s",
    title: "W4s 500 runs sleep for 1 s",
    parts: [{ name: "pawl", module: "pawl/sleepers", options: { runs: 500 } }],
    figures: ({ pawl }) => [
      figure("lateness, p50", pawl.lateMs, "ms"),
      figure("lateness, p95", pawl.lateP95Ms, "ms"),
      figure("lateness, p99", pawl.lateP99Ms, "ms", atMost(10)),
    ],
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
    parts: [{ name: "pawl", module: "pawl/loop", options: { rounds: 490, runs: quick ? 4 : 8 } }],
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
    roundsMax: 1,
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
    roundsMax: 1,
    parts: [{ name: "pawl", module: "pawl/rounds", options: { rounds: count } }],
    figures: ({ pawl }) => [
      figure("a round, p50", pawl.roundMs, "ms"),
      figure("last tenth ÷ first", pawl.growth, "ratio", atMost(1.1)),
      figure("records in the journal, at most", pawl.rowsMax, "count", atMost(100)),
      figure("heap gained from the first tenth to the last", pawl.heapGrowth, "mebibytes", atMost(4 * 2 ** 20)),
    ],
  };
}
