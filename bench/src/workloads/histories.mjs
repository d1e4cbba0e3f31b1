import { atMost, figure } from "../figure.mjs";
import { median } from "../stats.mjs";

/**
 * Workloads of long histories and of many runs: the speed of replay, the cost of a wake-up after few and after many records, and the memory
 * and database size of a suspended run.
 *
 * @import { Goals } from "../figure.mjs"
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

const MOST_RECORDS = 20_000;

/** The number of replays of the longest history per round, each in a new process. One replay takes only 0.1 s. */
const REPLAYS = 3;

/** @param {Pace} pace @param {Goals} goals @returns {Workload} */
export function replay({ brief }, goals) {
  const sizes = brief ? [MOST_RECORDS] : [1_000, 5_000, MOST_RECORDS];
  return {
    name: "W5",
    title: "W5 a run resumes in another process after its process was killed",
    parts: sizes.flatMap((records) => [
      { name: `${records}/recorded`, module: "pawl/record-run", options: { records }, killed: true },
      ...times(records, brief).flatMap((time) => [
        { name: `${records}/bare ${time}`, module: "raw/replay-loop", options: { records } },
        { name: `${records}/replayed ${time}`, module: "pawl/replay-run", options: { records }, afterMs: 1_500 },
      ]),
    ]),
    figures: (results) =>
      sizes.flatMap((records) => {
        const middle = (/** @type {string} */ name, part = "replayed") =>
          median(times(records, brief).map((time) => results[`${records}/${part} ${time}`][name]));
        const bare = middle("recordsPerSecond", "bare");
        const judged = records === MOST_RECORDS ? goals : undefined;
        const count = records.toLocaleString("en-US");
        return [
          figure(`${count} records: records/s, code entered → resumed`, middle("recordsPerSecond"), "count", judged),
          figure("  a bare loop that waits until idle at each record: records/s", bare, "count"),
          figure("    ÷ the bare loop", middle("recordsPerSecond") / bare, "ratio"),
          figure("  in a warm process: records/s", middle("againPerSecond"), "count"),
          figure("  code entered → resumed", middle("tookMs"), "ms"),
          figure("  open → code entered", middle("openToEnterMs"), "ms"),
          figure("  process start → code resumes", middle("restartMs"), "ms"),
        ];
      }),
  };
}

/** @param {number} records @param {boolean} brief */
function times(records, brief) {
  const count = records === MOST_RECORDS && !brief ? REPLAYS : 1;
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** @param {Pace} pace @param {Goals} goals @returns {Workload} */
export function loop({ quick, brief }, goals) {
  return {
    name: "W5loop",
    title: "W5loop 490 iterations of a step and sleep(1) on one run",
    parts: [{ name: "pawl", module: "pawl/loop", options: { rounds: 490, runs: brief ? 2 : quick ? 6 : 12 } }],
    figures: ({ pawl }) => [
      figure("a round, p50", pawl.roundMs, "ms"),
      figure("an iteration of the first tenth, p50", pawl.firstMs, "ms"),
      figure("an iteration of the last tenth, p50", pawl.lastMs, "ms"),
      figure("last tenth ÷ first", pawl.growth, "ratio", goals),
    ],
  };
}

/** @param {Pace} pace @returns {Workload} */
export function wakeAfter({ brief }) {
  return {
    name: "W5wake",
    title: "W5wake a message to a hot run, after 10 records and after 2,000",
    parts: [
      { name: "pawl", module: "pawl/wake-after", options: { runs: brief ? 15 : 30, few: 10, many: 2_000, rounds: 40 } },
    ],
    figures: ({ pawl }) => [
      figure("CPU of a wake-up after 10 records", pawl.fewMicros, "micros"),
      figure("CPU of a wake-up after 2,000 records", pawl.manyMicros, "micros"),
      figure("  ÷ after 10", pawl.growth, "ratio", atMost(null, 1.1)),
    ],
  };
}

/** @typedef {{ heap?: Goals, idle?: Goals, growth?: Goals }} MemoryGoals */

/** @param {Pace} pace @param {MemoryGoals} [goals] @returns {Workload} */
export function memory({ quick, brief }, goals = {}) {
  const cold = quick ? 40_000 : 100_000;
  const idleMs = brief ? 2_000 : quick ? 5_000 : 10_000;
  const part = (name, runs, hotRuns) => ({ name, module: "pawl/memory", options: { runs, hotRuns, idleMs } });
  return {
    name: "W6",
    title: "W6 runs suspended on a message",
    parts: [part("hot", 10_000, 20_000), ...(brief ? [] : [part("cold", cold, 100)])],
    figures: ({ hot, cold: rest }) => [
      figure("10,000 hot: heap a run", hot.heapPerRun, "bytes", goals.heap),
      figure("  RSS a run", hot.rssPerRun, "bytes", atMost(null, 5_120)),
      figure("    before V8 returns free memory", hot.rssAtWorkPerRun, "bytes"),
      figure("  database bytes a run", hot.bytesPerRun, "bytes"),
      figure("  idle CPU", hot.idleCpu, "percent", goals.idle),
      ...(rest === undefined ? [] : coldFigures(cold, rest, goals)),
    ],
  };
}

/** @param {number} runs @param {any} rest @param {MemoryGoals} goals */
function coldFigures(runs, rest, { idle, growth }) {
  return [
    figure(
      `${runs.toLocaleString("en-US")} cold: heap gained over the second half`,
      rest.heapGrowth,
      "mebibytes",
      growth,
    ),
    figure("  RSS gained over the second half", rest.rssGrowth, "mebibytes"),
    figure("  idle CPU", rest.idleCpu, "percent", idle),
  ];
}

/** @param {Pace} pace @returns {Workload} */
export function rounds({ quick }) {
  const count = quick ? 20_000 : 100_000;
  return {
    name: "W7",
    title: `W7 ctx.loop: ${count.toLocaleString("en-US")} iterations of a step on one run`,
    parts: [{ name: "pawl", module: "pawl/rounds", options: { rounds: count } }],
    figures: ({ pawl }) => [
      figure("a round, p50", pawl.roundMs, "ms"),
      figure("last tenth ÷ first", pawl.growth, "ratio", atMost(1.1)),
      figure("records in the journal, at most", pawl.rowsMax, "count", atMost(100)),
      figure("heap gained from the first tenth to the last", pawl.heapGrowth, "mebibytes", atMost(4 * 2 ** 20)),
    ],
  };
}
