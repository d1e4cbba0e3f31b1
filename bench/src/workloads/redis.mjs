import { atLeast, figure } from "../figure.mjs";
import { latency, sequence, sleepers, wake, wakeAcross } from "./latencies.mjs";
import { queues } from "./queues.mjs";
import { between } from "./workload.mjs";

/**
 * What is measured on Redis, with the same `appendfsync` on both sides of every ratio.
 *
 * @import { Part } from "../spawn.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {string} name @returns {Part} */
const raw = (name) => ({ name, module: "raw/redis-limits", options: { singleMs: 500, batchMs: 1_500 } });

/** @param {{ quick: boolean }} options @returns {readonly Workload[]} */
export function redisWorkloads({ quick }) {
  return [
    throughput(quick),
    sequence(),
    latency({ quick }),
    wake(),
    wakeAcross(),
    sleepers(),
    ...queues({ quick, queues: ["bullmq"] }),
  ];
}

/** @param {boolean} quick @returns {Workload} */
function throughput(quick) {
  const times = { warmMs: 1_500, windowMs: quick ? 2_000 : 4_000 };
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps",
    parts: [
      raw("raw"),
      { name: "pawl1000", module: "pawl/throughput", options: { ...times, inFlight: 1_000 } },
      { name: "pawl100", module: "pawl/throughput", options: { ...times, inFlight: 100 } },
      raw("rawAfter"),
    ],
    figures: ({ raw: before, rawAfter, pawl1000, pawl100 }) => {
      const rows = between(before.rowsPerSecond, rawAfter.rowsPerSecond);
      return [
        figure("raw entries/s in hundreds", rows, "count"),
        figure("raw single commit", between(before.commitMs, rawAfter.commitMs), "ms"),
        figure("share of a core that a process gets", between(before.coreShare, rawAfter.coreShare), "percent"),
        figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
        figure("  ÷ raw entries", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.3)),
        figure("  scripts a step", pawl1000.statementsPerStep, "ratio"),
        figure("  CPU a step, process", pawl1000.cpuMicrosPerStep, "micros"),
        figure("  CPU a step, server", pawl1000.serverMicrosPerStep, "micros"),
        figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms"),
        figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
        figure("  ÷ raw entries", pawl100.stepsPerSecond / rows, "ratio"),
      ];
    },
  };
}
