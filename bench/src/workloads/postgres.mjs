import { atLeast, atMost, below, figure, figureOf } from "../figure.mjs";
import { findNode24 } from "../node24.mjs";
import { canRestate, postgresPeers } from "../peers/available.mjs";
import { claimed } from "./claimed.mjs";
import { loop, memory, replay, wakeAfter } from "./histories.mjs";
import { latency, sequence, sleepers, wake, wakeAcross } from "./latencies.mjs";
import { rawOf, windowOf, withRaw } from "./pace.mjs";
import { bestOf, peerFigures, peerParts, ratioName } from "./peers.mjs";
import { busyScaling, scaling } from "./postgres-scaling.mjs";
import { queues } from "./queues.mjs";
import { between } from "./workload.mjs";

/**
 * Workloads on one PostgreSQL server. Restate's server, which has its own storage, is measured beside it.
 *
 * @import { Part } from "../spawn.mjs"
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function postgresWorkloads(pace) {
  return [
    throughput(pace),
    claimed(pace, {
      fullMs: 5_000,
      raw: "raw/postgres-limits",
      rawMs: pace.quick ? 1_500 : 2_500,
      rows: "rows/s, arrays of 500 on two connections",
    }),
    sequence(atMost(2, 1.6)),
    latency(pace, { ran: atMost(4, 3) }),
    wake(pace, { p50: atMost(5, 4), p99: atMost(null, 12) }),
    wakeAcross(pace, { p50: atMost(10, 8) }),
    sleepers(atMost(null, 5)),
    ...(pace.brief ? [] : longer(pace)),
  ];
}

/** The long workloads. @param {Pace} pace @returns {readonly Workload[]} */
function longer(pace) {
  return [
    memory({ ...pace, quick: true }),
    queues({ ...pace, queues: ["pg-boss", "graphile-worker"] }),
    replay(pace, atLeast(null, 300_000)),
    loop(pace, atMost(null, 1.1)),
    wakeAfter(pace),
    peerLatencies(pace),
    scaling(pace),
    busyScaling(pace),
  ];
}

/** TypeScript engines that store their runs in PostgreSQL. */
const ENGINES = [
  { name: "openworkflow", title: "openworkflow", briefly: 100 },
  { name: "dbos", title: "DBOS", briefly: 100 },
  { name: "absurd", title: "absurd", briefly: 100 },
];
const RESTATE = { name: "restate", title: "Restate's server", briefly: 1_000 };

/** The engines that can be measured here. */
function engines() {
  const names = postgresPeers();
  return ENGINES.filter(({ name }) => names.includes(name));
}

function allPeers() {
  return [...engines(), ...(canRestate() ? [RESTATE] : [])];
}

/** Restate's SDK needs a newer Node than the others. @param {string} peer @returns {{ node?: string }} */
function nodeOf(peer) {
  const node = findNode24();
  return peer === RESTATE.name && node !== null ? { node } : {};
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
  const runs = pace.brief ? 600 : pace.quick ? 1_200 : 2_400;
  const peers = allPeers().flatMap((peer) =>
    peerParts(pace, peer, (inFlight) => ({
      module: "peers/throughput",
      options: { ...times, peer: peer.name, inFlight, runs: runs + 2 * inFlight },
      ...nodeOf(peer.name),
    })),
  );
  return {
    name: "W1",
    title: "W1 throughput: runs of 10 trivial steps",
    parts: withRaw(pace, raw, [pawl("pawl1000", 1_000), ...peers, pawl("pawl100", 100)]),
    figures: (results) => throughputFigures(pace, results),
  };
}

/** @param {Pace} pace @param {Readonly<Record<string, any>>} results */
function throughputFigures(pace, results) {
  const { raw: before, rawAfter, pawl1000, pawl100 } = results;
  const rows = between(before.rowsPerSecond, rawAfter?.rowsPerSecond);
  const best = bestOf(results, ...engines());
  const restate = bestOf(results, RESTATE);
  const both = pawl1000.cpuMicrosPerStep + pawl1000.serverMicrosPerStep;
  return [
    figure("raw rows/s, arrays of 500 on two connections", rows, "count"),
    figure("raw single commit", between(before.commitMs, rawAfter?.commitMs), "ms"),
    figure("share of a core that a process gets", between(before.coreShare, rawAfter?.coreShare), "percent"),
    figure("pawl steps/s, 1,000 in flight", pawl1000.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl1000.stepsPerSecond / rows, "ratio", atLeast(0.12, 0.18)),
    figure("  ÷ the best TypeScript peer", pawl1000.stepsPerSecond / best, "ratio", atLeast(12, 18)),
    figure(ratioName(pace, RESTATE), pawl1000.stepsPerSecond / restate, "ratio", atLeast(null, 10)),
    ...costs(pawl1000, { counts: below(0.05), bytes: atMost(null, 2_560) }),
    figure("  CPU a step, both", both, "micros", atMost(null, 45)),
    figure("  event-loop delay, p99", pawl1000.loopDelayMs, "ms", below(null, 20)),
    figure("pawl steps/s, 100 in flight", pawl100.stepsPerSecond, "count"),
    figure("  ÷ raw rows", pawl100.stepsPerSecond / rows, "ratio"),
    figure("  ÷ the best TypeScript peer", pawl100.stepsPerSecond / best, "ratio"),
    figure(ratioName(pace, RESTATE), pawl100.stepsPerSecond / restate, "ratio"),
    ...costs(pawl100),
    ...allPeers().flatMap((peer) => peerFigures(pace, peer, results, costs)),
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
  ];
}

/** @param {Pace} pace @returns {Workload} */
function peerLatencies({ quick }) {
  const peers = allPeers();
  const options = { steps: 200, runs: quick ? 5 : 15, waiting: 20 };
  return {
    name: "peers",
    title: "W2, W3 and W4 of the peers",
    roundsMax: 1,
    parts: peers.map(({ name }) => ({
      name,
      module: "peers/latencies",
      options: { peer: name, ...options },
      peer: true,
      ...nodeOf(name),
    })),
    figures: (results) =>
      peers.flatMap(({ name, title }) => [
        figureOf(results[name], `${title}: a step after another, p50`, results[name].stepMs, "ms"),
        figure("  start → step ran, p50", results[name].ranMs, "ms"),
        figure("  start → result, p50", results[name].resultMs, "ms"),
        figure("  20 sends at a time → code resumes, p50", results[name].wakeMs, "ms"),
      ]),
  };
}
