import { atLeast, below, figure } from "../figure.mjs";
import { windowOf, withRaw } from "./pace.mjs";
import { between } from "./workload.mjs";

/**
 * Workloads without a database: the cost of the engine itself.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function memoryWorkloads(pace) {
  const times = windowOf(pace, 4_000);
  const options = { ...times, warmMs: 500, inFlight: 1_000 };
  const loop = (name) => ({ name, module: "raw/step-loop", options });
  return [
    {
      name: "W1",
      title: "W1 throughput: runs of 10 trivial steps",
      parts: withRaw(pace, loop, [
        { name: "pawl1000", module: "pawl/throughput", options: { ...times, inFlight: 1_000 } },
        { name: "watched", module: "raw/step-loop", options: { ...options, watched: true } },
      ]),
      figures: ({ raw, rawAfter, pawl1000, watched }) => {
        const steps = between(raw.stepsPerSecond, rawAfter?.stepsPerSecond);
        return [
          figure("raw steps/s of a plain loop", steps, "count"),
          figure("  CPU a step", between(raw.cpuMicrosPerStep, rawAfter?.cpuMicrosPerStep), "micros"),
          figure("raw steps/s, with its promises watched", watched.stepsPerSecond, "count"),
          figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
          figure("  ÷ the plain loop", pawl1000.stepsPerSecond / steps, "ratio", atLeast(null, 0.15)),
          figure("  ÷ the plain loop, watched too", pawl1000.stepsPerSecond / watched.stepsPerSecond, "ratio"),
          figure("  CPU a step", pawl1000.cpuMicrosPerStep, "micros"),
          figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms", below(null, 20)),
        ];
      },
    },
  ];
}
