import { atLeast, figure } from "../figure.mjs";

/**
 * The gain from more worker processes on one server.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {Workload} */
export function scaling({ quick }) {
  const counts = [1, 2, 4];
  const windowMs = quick ? 1_500 : 3_000;
  const runs = quick ? 18_000 : 30_000;
  // The code of each worker is compiled then. A cold worker takes twice the CPU time.
  const options = { busyMs: 0, concurrency: 500, warmMs: 500, warmSteps: 10_000, windowMs, runs };
  return {
    name: "scale",
    title: "Scaling: worker processes on one server, trivial steps",
    parts: counts.map((workers) => ({ name: `w${workers}`, module: "pawl/scaling", options: { ...options, workers } })),
    figures: (results) =>
      counts.flatMap((workers) => {
        const measured = results[`w${workers}`];
        return [
          figure(`${workers} workers: steps/s`, measured.stepsPerSecond, "count"),
          figure("  ÷ one worker", measured.stepsPerSecond / results.w1.stepsPerSecond, "ratio"),
          figure("  CPU a step, workers", measured.workerMicrosPerStep, "micros"),
          figure("  CPU a step, server", measured.serverMicrosPerStep, "micros"),
          figure("  cores kept busy by both", coresBusy(measured), "ratio"),
          figure("  statements a step", measured.statementsPerStep, "ratio"),
        ];
      }),
  };
}

/** If it equals the cores of the host, CPU is the limit. If it is lower, the processes wait. @param {any} measured */
function coresBusy({ stepsPerSecond, workerMicrosPerStep, serverMicrosPerStep }) {
  return (stepsPerSecond * (workerMicrosPerStep + serverMicrosPerStep)) / 1e6;
}

/** @param {Pace} pace @returns {Workload} */
export function busyScaling({ quick }) {
  const windowMs = quick ? 3_000 : 6_000;
  const options = { busyMs: 5, concurrency: 20, warmMs: 500, warmSteps: 40, windowMs, runs: 800 };
  return {
    name: "scale5ms",
    title: "Scaling: steps of 5 ms of CPU",
    parts: [
      { name: "cores", module: "raw/cores", options: { forMs: 1_000 } },
      { name: "w1", module: "pawl/scaling", options: { ...options, workers: 1 } },
      { name: "w2", module: "pawl/scaling", options: { ...options, workers: 2 } },
    ],
    figures: ({ cores, w1, w2 }) => [
      figure("two bare processes ÷ one", cores.two / cores.one, "ratio"),
      figure("1 worker: steps/s", w1.stepsPerSecond, "count"),
      figure("  cores kept busy by worker and server", coresBusy(w1), "ratio"),
      figure("2 workers: steps/s", w2.stepsPerSecond, "count"),
      figure("  ÷ one worker", w2.stepsPerSecond / w1.stepsPerSecond, "ratio", atLeast(1.7)),
      figure("  cores kept busy by workers and server", coresBusy(w2), "ratio"),
    ],
  };
}
