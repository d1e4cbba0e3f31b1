import { atLeast, atMost, below, figure } from "../figure.mjs";
import { findNode24 } from "../node24.mjs";
import { canRestate, postgresPeers } from "../peers/available.mjs";
import { loop, memory, replay, wakeAfter } from "./histories.mjs";
import { latency, sequence, sleepers, wake, wakeAcross } from "./latencies.mjs";
import { rawOf, windowOf } from "./pace.mjs";
import { busyScaling, scaling } from "./postgres-scaling.mjs";
import { queues } from "./queues.mjs";
import { between } from "./workload.mjs";

/**
 * What is measured on PostgreSQL, all of it on one server; Restate's server, which keeps everything itself, is measured beside it.
 *
 * @import { Part } from "../spawn.mjs"
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function postgresWorkloads(pace) {
  return [
    throughput(pace),
    sequence(atMost(2, 1.6)),
    latency(pace, { ran: atMost(4, 3) }),
    wake(pace, { p50: atMost(5, 4), p99: atMost(null, 12) }),
    wakeAcross(pace, { p50: atMost(10, 8) }),
    sleepers(atMost(null, 5)),
    memory({ ...pace, quick: true }),
    ...queues({ ...pace, queues: ["pg-boss", "graphile-worker"] }),
    ...(pace.brief ? [] : longer(pace)),
  ];
}

/** What takes its time. @param {Pace} pace @returns {readonly Workload[]} */
function longer(pace) {
  return [
    replay(pace, atLeast(null, 300_000)),
    loop(pace, atMost(null, 1.1)),
    wakeAfter(pace),
    peerLatencies(pace),
    scaling(pace),
    busyScaling(pace),
  ];
}

/** Every peer that is measured with ours, by its name. */
function allPeers() {
  return [...postgresPeers(), ...(canRestate() ? ["restate"] : [])];
}

/** Restate's SDK needs a newer Node than the others. @param {string} peer @returns {{ node?: string }} */
function nodeOf(peer) {
  const node = findNode24();
  return peer === "restate" && node !== null ? { node } : {};
}

/** @param {Pace} pace @returns {Workload} */
function throughput(pace) {
  const times = windowOf(pace, 5_000);
  const raw = (name) => ({
    name,
    module: "raw/postgres-limits",
    options: rawOf(pace, pace.quick ? 1_500 : 2_500),
  });
  const pawl = (name, inFlight) => ({ name, module: "pawl/throughput", options: { ...times, inFlight } });
  /** @param {string} peer @returns {Part} */
  const part = (peer) => ({
    name: peer,
    module: "peers/throughput",
    options: { ...times, peer, inFlight: 100, runs: pace.brief ? 600 : pace.quick ? 1_200 : 2_400 },
    ...nodeOf(peer),
  });
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps",
    parts: [raw("raw"), pawl("pawl1000", 1_000), ...allPeers().map(part), pawl("pawl100", 100), raw("rawAfter")],
    figures: throughputFigures,
  };
}

/** @param {Readonly<Record<string, any>>} results */
function throughputFigures(results) {
  const { raw: before, rawAfter, pawl1000, pawl100 } = results;
  const rows = between(before.rowsPerSecond, rawAfter.rowsPerSecond);
  const best = Math.max(...postgresPeers().map((peer) => results[peer].stepsPerSecond));
  const restate = results.restate?.stepsPerSecond ?? Number.NaN;
  const both = pawl1000.cpuMicrosPerStep + pawl1000.serverMicrosPerStep;
  return [
    figure("raw rows/s, arrays of 500 on two connections", rows, "count"),
    figure("raw single commit", between(before.commitMs, rawAfter.commitMs), "ms"),
    figure("share of a core that a process gets", between(before.coreShare, rawAfter.coreShare), "percent"),
    figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.12, 0.18)),
    figure("  ÷ the best TypeScript peer", pawl1000.stepsPerSecond / best, "ratio", atLeast(12, 18)),
    figure("  ÷ Restate's server", pawl1000.stepsPerSecond / restate, "ratio", atLeast(null, 10)),
    ...costs(pawl1000, { counts: below(0.05), bytes: atMost(null, 2_560) }),
    figure("  CPU a step, both", both, "micros", atMost(null, 45)),
    figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms", below(null, 20)),
    figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl100.stepsPerSecond / rows, "ratio"),
    figure("  ÷ the best TypeScript peer", pawl100.stepsPerSecond / best, "ratio"),
    ...costs(pawl100),
    ...allPeers().flatMap((peer) => [
      figure(`${peer} steps/s, 100 in flight`, results[peer].stepsPerSecond, "count"),
      ...costs(results[peer]),
    ]),
  ];
}

/** @param {any} measured @param {{ counts?: import("../figure.mjs").Goals, bytes?: import("../figure.mjs").Goals }} [goals] */
function costs(measured, { counts, bytes } = {}) {
  return [
    figure("  statements a step", measured.statementsPerStep, "ratio", counts),
    figure("  commits a step", measured.commitsPerStep, "ratio", counts),
    figure("  CPU a step, process", measured.cpuMicrosPerStep, "micros"),
    figure("  CPU a step, server", measured.serverMicrosPerStep, "micros"),
    figure("  log bytes a step", measured.logBytesPerStep, "bytes"),
    figure("  database bytes a run", measured.bytesPerRun, "bytes", bytes),
  ].filter(({ value, goals }) => !Number.isNaN(value) || goals !== undefined);
}

/** @param {Pace} pace @returns {Workload} */
function peerLatencies({ quick }) {
  const peers = allPeers();
  const options = { steps: 200, runs: quick ? 5 : 15, waiting: 20 };
  return {
    name: "peers",
    title: "W2, W3 and W4 of the peers",
    roundsMax: 1,
    parts: peers.map((peer) => ({
      name: peer,
      module: "peers/latencies",
      options: { peer, ...options },
      ...nodeOf(peer),
    })),
    figures: (results) =>
      peers.flatMap((peer) => [
        figure(`${peer}: a step after another, p50`, results[peer].stepMs, "ms"),
        figure("  start → step ran, p50", results[peer].ranMs, "ms"),
        figure("  start → result, p50", results[peer].resultMs, "ms"),
        figure("  20 sends at a time → code goes on, p50", results[peer].wakeMs, "ms"),
      ]),
  };
}
