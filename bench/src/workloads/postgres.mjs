import { atLeast, atMost, below, figure } from "../figure.mjs";
import { findPeers } from "../peers/absurd-schema.mjs";
import { latency, sequence, sleepers, wake, wakeAcross } from "./latencies.mjs";
import { queues } from "./queues.mjs";
import { between } from "./workload.mjs";

/**
 * What is measured on PostgreSQL, all of it on one server.
 *
 * @import { Part } from "../spawn.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {string} name @param {boolean} quick @returns {Part} */
const raw = (name, quick) => ({
  name,
  module: "raw/postgres-limits",
  options: { singleMs: 500, batchMs: quick ? 1_500 : 2_500 },
});

/** @param {{ quick: boolean }} options @returns {readonly Workload[]} */
export function postgresWorkloads({ quick }) {
  return [
    throughput(quick),
    sequence(atMost(2)),
    latency({ quick, ran: atMost(4) }),
    wake(atMost(5)),
    wakeAcross(atMost(10)),
    sleepers(),
    peerLatencies(quick),
    ...queues({ quick, queues: ["pg-boss", "graphile-worker"] }),
    scaling(quick),
    busyScaling(quick),
  ];
}

/** @param {boolean} quick @returns {Workload} */
function throughput(quick) {
  const times = { warmMs: 1_500, windowMs: quick ? 2_500 : 5_000 };
  const peers = findPeers().names;
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps",
    parts: [
      raw("raw", quick),
      { name: "pawl1000", module: "pawl/throughput", options: { ...times, inFlight: 1_000 } },
      ...peers.map((peer) => ({
        name: peer,
        module: "peers/throughput",
        options: { ...times, peer, inFlight: 100, runs: quick ? 1_200 : 2_400 },
      })),
      { name: "pawl100", module: "pawl/throughput", options: { ...times, inFlight: 100 } },
      raw("rawAfter", quick),
    ],
    figures: (results) => throughputFigures(results, peers),
  };
}

/** @param {Readonly<Record<string, any>>} results @param {readonly string[]} peers */
function throughputFigures({ raw: before, rawAfter, pawl1000, pawl100, ...rest }, peers) {
  const rows = between(before.rowsPerSecond, rawAfter.rowsPerSecond);
  const best = Math.max(...peers.map((peer) => rest[peer].stepsPerSecond));
  return [
    figure("raw rows/s, arrays of 500 on two connections", rows, "count"),
    figure("raw single commit", between(before.commitMs, rawAfter.commitMs), "ms"),
    figure("share of a core that a process gets", between(before.coreShare, rawAfter.coreShare), "percent"),
    figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.12)),
    figure("  ÷ the best peer", pawl1000.stepsPerSecond / best, "ratio", atLeast(12)),
    ...costs(pawl1000, below(0.05)),
    figure("  CPU a step, both", pawl1000.cpuMicrosPerStep + pawl1000.serverMicrosPerStep, "micros"),
    figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms"),
    figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl100.stepsPerSecond / rows, "ratio"),
    figure("  ÷ the best peer", pawl100.stepsPerSecond / best, "ratio"),
    ...costs(pawl100),
    ...peers.flatMap((peer) => [
      figure(`${peer} steps/s, 100 in flight`, rest[peer].stepsPerSecond, "count"),
      ...costs(rest[peer]),
    ]),
  ];
}

/** @param {any} measured @param {import("../figure.mjs").Bar} [bar] */
function costs(measured, bar) {
  return [
    figure("  statements a step", measured.statementsPerStep, "ratio", bar),
    figure("  commits a step", measured.commitsPerStep, "ratio", bar),
    figure("  CPU a step, process", measured.cpuMicrosPerStep, "micros"),
    figure("  CPU a step, server", measured.serverMicrosPerStep, "micros"),
    figure("  log bytes a step", measured.logBytesPerStep, "bytes"),
    figure("  database bytes a run", measured.bytesPerRun, "bytes"),
  ];
}

/** @param {boolean} quick @returns {Workload} */
function peerLatencies(quick) {
  const peers = findPeers().names;
  const options = { steps: 200, runs: quick ? 5 : 15, waiting: 20 };
  return {
    name: "peers",
    title: "W2, W3 and W4 of the peers",
    roundsMax: 1,
    parts: peers.map((peer) => ({ name: peer, module: "peers/latencies", options: { peer, ...options } })),
    figures: (results) =>
      peers.flatMap((peer) => [
        figure(`${peer}: a step after another, p50`, results[peer].stepMs, "ms"),
        figure("  start → step ran, p50", results[peer].ranMs, "ms"),
        figure("  start → result, p50", results[peer].resultMs, "ms"),
        figure("  20 sends at a time → code goes on, p50", results[peer].wakeMs, "ms"),
      ]),
  };
}

/** @param {boolean} quick @returns {Workload} */
function scaling(quick) {
  const counts = [1, 2, 4];
  const windowMs = quick ? 1_500 : 3_000;
  const options = { busyMs: 0, concurrency: 500, warmMs: 500, windowMs, runs: quick ? 15_000 : 25_000 };
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

/** As many as the machine has: CPU is the bound. Fewer: something is waited for. @param {any} measured */
function coresBusy({ stepsPerSecond, workerMicrosPerStep, serverMicrosPerStep }) {
  return (stepsPerSecond * (workerMicrosPerStep + serverMicrosPerStep)) / 1e6;
}

/** @param {boolean} quick @returns {Workload} */
function busyScaling(quick) {
  const windowMs = quick ? 3_000 : 6_000;
  const options = { busyMs: 5, concurrency: 20, warmMs: 500, windowMs, runs: 800 };
  return {
    name: "scale5ms",
    title: "Scaling: steps of 5 ms of CPU",
    parts: [
      { name: "cores", module: "raw/cores", options: { forMs: 1_000 } },
      { name: "w1", module: "pawl/scaling", options: { ...options, workers: 1 } },
      { name: "w2", module: "pawl/scaling", options: { ...options, workers: 2 } },
    ],
    figures: ({ cores, w1, w2 }) => [
      figure("what two bare processes do ÷ one", cores.two / cores.one, "ratio"),
      figure("1 worker: steps/s", w1.stepsPerSecond, "count"),
      figure("  cores kept busy by worker and server", coresBusy(w1), "ratio"),
      figure("2 workers: steps/s", w2.stepsPerSecond, "count"),
      figure("  ÷ one worker", w2.stepsPerSecond / w1.stepsPerSecond, "ratio", atLeast(1.7)),
      figure("  cores kept busy by workers and server", coresBusy(w2), "ratio"),
    ],
  };
}
