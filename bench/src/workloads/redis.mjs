import { atLeast, below, figure } from "../figure.mjs";
import { claimed } from "./claimed.mjs";
import { latency, sequence, sleepers, wake, wakeAcross } from "./latencies.mjs";
import { rawOf, windowOf, withRaw } from "./pace.mjs";
import { queues } from "./queues.mjs";
import { between } from "./workload.mjs";

/**
 * Workloads on Redis, with the same `appendfsync` on both sides of every ratio.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function redisWorkloads(pace) {
  return [
    throughput(pace),
    claimed(pace, { fullMs: 4_000, raw: "raw/redis-limits", rawMs: 1_500, rows: "entries/s in hundreds" }),
    ...(pace.brief
      ? []
      : [sequence(), latency(pace), wake(pace), wakeAcross(pace), sleepers(), queues({ ...pace, queues: ["bullmq"] })]),
  ];
}

/** @param {Pace} pace @returns {Workload} */
function throughput(pace) {
  const times = windowOf(pace, 4_000);
  const raw = (name) => ({ name, module: "raw/redis-limits", options: rawOf(pace, 1_500) });
  const pawl = (name, inFlight) => ({ name, module: "pawl/throughput", options: { ...times, inFlight } });
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps",
    parts: withRaw(pace, raw, [pawl("pawl1000", 1_000), ...(pace.brief ? [] : [pawl("pawl100", 100)])]),
    figures: ({ raw: before, rawAfter, pawl1000, pawl100 }) => {
      const rows = between(before.rowsPerSecond, rawAfter?.rowsPerSecond);
      return [
        figure("raw entries/s in hundreds", rows, "count"),
        figure("raw single commit", between(before.commitMs, rawAfter?.commitMs), "ms"),
        figure("share of a core that a process gets", between(before.coreShare, rawAfter?.coreShare), "percent"),
        figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
        figure("  ÷ raw entries", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.3, 0.4)),
        figure("  scripts a step", pawl1000.statementsPerStep, "ratio"),
        figure("  CPU a step, process", pawl1000.cpuMicrosPerStep, "micros"),
        figure("  CPU a step, server", pawl1000.serverMicrosPerStep, "micros"),
        figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms", below(null, 20)),
        figure("pawl steps/s, 100 in flight", pawl100?.stepsPerSecond, "count"),
        figure("  ÷ raw entries", pawl100?.stepsPerSecond / rows, "ratio"),
      ];
    },
  };
}
