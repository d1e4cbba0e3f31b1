import { figure } from "../figure.mjs";

/**
 * Workloads that measure times, in single commits of the same store. They are the same on every store; their goals differ.
 *
 * @import { Goals } from "../figure.mjs"
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Goals} [goals] @returns {Workload} */
export function sequence(goals) {
  return {
    name: "W2",
    title: "W2 one run of 1,000 steps, one after another",
    parts: [{ name: "pawl", module: "pawl/sequence", options: { steps: 1_000 } }],
    figures: ({ pawl }) => [
      figure("raw single commit", pawl.commitMs, "ms"),
      figure("a step, p50", pawl.stepMs, "ms"),
      figure("  in commits", pawl.stepMs / pawl.commitMs, "ratio", goals),
      figure("a step, p95", pawl.stepP95Ms, "ms"),
      figure("last quarter ÷ first", pawl.growth, "ratio"),
    ],
  };
}

/** @param {Pace} pace @param {{ ran?: Goals, result?: Goals }} [goals] @returns {Workload} */
export function latency({ quick, brief }, { ran, result } = {}) {
  return {
    name: "W3",
    title: "W3 an idle engine gets a run of one step, 5–50 ms apart",
    parts: [
      {
        name: "pawl",
        module: "pawl/latency",
        options: { runs: brief ? 40 : quick ? 80 : 150, warmRuns: brief ? 800 : 2_000 },
      },
    ],
    figures: ({ pawl }) => [
      figure("raw single commit, 5–50 ms apart", pawl.commitMs, "ms"),
      figure("start → step ran, p50", pawl.ranMs, "ms"),
      figure("  in commits", pawl.ranMs / pawl.commitMs, "ratio", ran),
      figure("start → step ran, p95", pawl.ranP95Ms, "ms"),
      figure("start → result, p50", pawl.resultMs, "ms"),
      figure("  in commits", pawl.resultMs / pawl.commitMs, "ratio", result),
      figure("start → result, p95", pawl.resultP95Ms, "ms"),
      figure("start → result, p50 of the first 100 runs, at once", pawl.coldMs, "ms"),
    ],
  };
}

/** @typedef {{ p50?: Goals, p99?: Goals }} WakeGoals */

/** @param {any} measured @param {WakeGoals} goals */
const wakeFigures = (measured, { p50, p99 }) => [
  figure("raw single commit", measured.commitMs, "ms"),
  figure("send → code resumes, p50", measured.wakeMs, "ms"),
  figure("  in commits", measured.wakeMs / measured.commitMs, "ratio", p50),
  figure("send → code resumes, p95", measured.wakeP95Ms, "ms"),
  figure("send → code resumes, p99", measured.wakeP99Ms, "ms"),
  figure("  in commits", measured.wakeP99Ms / measured.commitMs, "ratio", p99),
];

/** How the runs are woken. Each warm-up round sends 500 messages that are not timed. @param {Pace} pace */
const wakeOptions = ({ brief }) => ({ runs: 500, atATime: 20, warmRounds: brief ? 3 : 8 });

/** @param {Pace} pace @param {WakeGoals} [goals] @returns {Workload} */
export function wake(pace, goals = {}) {
  return {
    name: "W4",
    title: "W4 500 runs wait for a message and get it, 20 at a time",
    parts: [{ name: "pawl", module: "pawl/wake", options: wakeOptions(pace) }],
    figures: ({ pawl }) => wakeFigures(pawl, goals),
  };
}

/** @param {Pace} pace @param {WakeGoals} [goals] @returns {Workload} */
export function wakeAcross(pace, goals = {}) {
  return {
    name: "W4x",
    title: "W4x the same, with the messages sent by another process",
    parts: [{ name: "pawl", module: "pawl/wake-across", options: wakeOptions(pace) }],
    figures: ({ pawl }) => wakeFigures(pawl, goals),
  };
}

/** @param {Goals} [goals] @returns {Workload} */
export function sleepers(goals) {
  return {
    name: "W4s",
    title: "W4s 500 runs sleep for 1 s",
    parts: [{ name: "pawl", module: "pawl/sleepers", options: { runs: 500 } }],
    figures: ({ pawl }) => [
      figure("lateness, p50", pawl.lateMs, "ms"),
      figure("lateness, p95", pawl.lateP95Ms, "ms"),
      figure("lateness, p99", pawl.lateP99Ms, "ms", goals),
    ],
  };
}
