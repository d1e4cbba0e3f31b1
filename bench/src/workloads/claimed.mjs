import { atLeast, figure } from "../figure.mjs";
import { rawOf, windowOf, withRaw } from "./pace.mjs";
import { between } from "./workload.mjs";

/**
 * Runs that one process starts and another claims, beside the runs that a process starts and executes itself.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

const IN_FLIGHT = 1_000;
/** The least share of the local rate. */
const LOCAL_SHARE = 0.75;

/**
 * @param {Pace} pace
 * @param {{ fullMs: number, raw: string, rawMs: number, rows: string }} options `raw` measures the bare store and `rows` names its unit.
 * @returns {Workload}
 */
export function claimed(pace, { fullMs, raw, rawMs, rows }) {
  const options = { ...windowOf(pace, fullMs), inFlight: IN_FLIGHT };
  const local = (name) => ({ name, module: "pawl/throughput", options });
  return {
    name: "W1c",
    title: "W1c throughput: a client starts runs of 10 trivial steps, a worker process claims them",
    parts: withRaw(pace, (name) => ({ name, module: raw, options: rawOf(pace, rawMs) }), [
      local("local"),
      { name: "claimed", module: "pawl/claimed", options },
      ...(pace.brief ? [] : [local("localAfter")]),
    ]),
    figures: ({ raw: before, rawAfter, local: first, localAfter, claimed: measured }) => {
      const rate = measured.stepsPerSecond;
      const rawRate = between(before.rowsPerSecond, rawAfter?.rowsPerSecond);
      const localRate = between(first.stepsPerSecond, localAfter?.stepsPerSecond);
      return [
        figure(`raw ${rows}`, rawRate, "count"),
        figure("pawl steps/s, claimed, 1,000 in flight", rate, "count"),
        figure("  ÷ W1", rate / localRate, "ratio", atLeast(LOCAL_SHARE)),
        figure(`  ÷ raw ${rows.split("/")[0]}`, rate / rawRate, "ratio"),
        figure("  CPU a step, worker", measured.workerMicrosPerStep, "micros"),
        figure("  CPU a step, client", measured.clientMicrosPerStep, "micros"),
        figure("  CPU a step, server", measured.serverMicrosPerStep, "micros"),
        figure("  statements or scripts a step", measured.statementsPerStep, "ratio"),
        figure("pawl steps/s, W1, 1,000 in flight", localRate, "count"),
      ];
    },
  };
}
