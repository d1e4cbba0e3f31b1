import { figure, figureOf } from "../figure.mjs";
import { findNode24 } from "../node24.mjs";

/**
 * Plain queues on the same server, and Pawl used as a queue. They have no bar, because a job is not a step. All use the same Node, because
 * two of them need a newer Node than Pawl.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** The number of jobs in thousands: the work of a few seconds for each queue. */
const THOUSANDS = { "pg-boss": 50, "graphile-worker": 60, bullmq: 40, pawl: 40 };

/**
 * @param {Pace & { queues: readonly ("pg-boss" | "graphile-worker" | "bullmq")[] }} options
 * @returns {Workload} Without parts if there is no such Node.
 */
export function queues({ quick, brief, queues: names }) {
  const node = findNode24();
  const all = /** @type {const} */ (["pawl", ...names]);
  const times = { warmMs: quick ? 500 : 1_000, windowMs: brief ? 1_000 : quick ? 1_500 : 3_000 };
  /** @param {keyof typeof THOUSANDS} queue @param {string} needed @returns {import("../spawn.mjs").Part} */
  const part = (queue, needed) => ({
    name: queue,
    module: "queues/throughput",
    options: { ...times, queue, jobs: THOUSANDS[queue] * (brief ? 250 : quick ? 500 : 1_000) },
    peer: queue !== "pawl",
    node: needed,
  });
  return {
    name: "queues",
    title: "Plain queues: one job is one call of a function, not a step of a workflow",
    parts: node === null ? [] : all.map((queue) => part(queue, node)),
    figures: (results) => all.flatMap((queue) => queueFigures(queue, results[queue])),
  };
}

/** @param {string} queue @param {any} measured */
function queueFigures(queue, measured) {
  const name = queue === "pawl" ? "pawl runs of one step/s, claimed" : `${queue} jobs/s`;
  return [
    figureOf(measured, name, measured.jobsPerSecond, "count"),
    figure("  CPU a job, process", measured.cpuMicrosPerJob, "micros"),
    figure("  CPU a job, server", measured.serverMicrosPerJob, "micros"),
    figure("  statements or scripts a job", measured.statementsPerJob, "ratio"),
  ];
}
