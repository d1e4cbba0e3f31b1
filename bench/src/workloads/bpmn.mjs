import { atLeast, atMost, figure, figureOf } from "../figure.mjs";
import { windowOf } from "./pace.mjs";
import { between } from "./workload.mjs";

/**
 * Workloads of processes: in memory, and on SQLite with `synchronous=FULL`, compared with bpmn-engine in memory without persistence.
 *
 * @import { Pace } from "./pace.mjs"
 * @import { Workload } from "./workload.mjs"
 */

/** @param {Pace} pace @returns {readonly Workload[]} */
export function bpmnWorkloads(pace) {
  return [throughput(pace), ...(pace.brief ? [] : [instances(), resumption(pace.quick)])];
}

/** @param {Pace} pace @returns {Workload} */
function throughput(pace) {
  const times = windowOf(pace, 4_000);
  const peer = (name, inFlight) => ({
    name,
    module: "bpmn/peer",
    peer: true,
    options: { ...times, inFlight, warmTasks: pace.brief ? 500 : 1_000 },
  });
  const pawl = (store, inFlight) => ({
    name: store,
    module: "bpmn/throughput",
    options: { ...times, store, inFlight, warmTasks: pace.brief ? 15_000 : 50_000 },
  });
  return {
    name: "B1",
    title: "B1 throughput: processes of 10 service tasks",
    parts: pace.brief
      ? [peer("peer", 1), pawl("memory", 30), pawl("sqlite", 1_000)]
      : [peer("peer", 1), pawl("memory", 30), peer("peer10", 10), pawl("sqlite", 1_000), peer("peerAfter", 1)],
    figures: ({ peer: before, peer10, peerAfter, memory, sqlite }) => {
      const alone = between(before.tasksPerSecond, peerAfter?.tasksPerSecond);
      const best = Math.max(alone, peer10?.tasksPerSecond ?? alone);
      return [
        figureOf(before, "bpmn-engine tasks/s, 1 in flight", alone, "count"),
        figureOf(peer10 ?? {}, "bpmn-engine tasks/s, 10 in flight", peer10?.tasksPerSecond, "count"),
        figure("  CPU a task", before.cpuMicrosPerTask, "micros"),
        figure("pawl tasks/s in memory, 30 in flight", memory.tasksPerSecond, "count"),
        figure("  ÷ bpmn-engine's better", memory.tasksPerSecond / best, "ratio", atLeast(50)),
        figure("  CPU a task", memory.cpuMicrosPerTask, "micros"),
        figure("  bpmn-engine's CPU a task ÷ it", before.cpuMicrosPerTask / memory.cpuMicrosPerTask, "ratio"),
        figure("pawl tasks/s on SQLite, FULL, 1,000 in flight", sqlite.tasksPerSecond, "count"),
        figure("  ÷ bpmn-engine's better, in memory", sqlite.tasksPerSecond / best, "ratio", atLeast(25)),
        figure("  CPU a task", sqlite.cpuMicrosPerTask, "micros"),
      ];
    },
  };
}

const COUNTS = [1_000, 3_000, 10_000];

/** @returns {Workload} */
function instances() {
  const part = (store) => ({ name: store, module: "bpmn/instances", options: { store, counts: COUNTS } });
  return {
    name: "B2",
    title: "B2 parallel instances over a list: CPU time an item",
    parts: [part("memory"), part("sqlite")],
    figures: (results) =>
      ["memory", "sqlite"].flatMap((store) => {
        const [first, ...more] = results[store].items;
        return [
          figure(`${store}: ${shown(first.count)} items`, first.microsPerItem, "micros"),
          ...more.map(({ count, microsPerItem }) => figure(`  ${shown(count)} items`, microsPerItem, "micros")),
          figure("  the most ÷ the fewest", more.at(-1).microsPerItem / first.microsPerItem, "ratio", atMost(1.5)),
        ];
      }),
  };
}

/** @param {boolean} quick @returns {Workload} */
function resumption(quick) {
  const counts = [500, quick ? 10_000 : 50_000];
  return {
    name: "B3",
    title: "B3 a process after many repetitions, taken over by another engine",
    roundsMax: quick ? 1 : 3,
    parts: [{ name: "pawl", module: "bpmn/resume", options: { counts } }],
    figures: ({ pawl: { resumed } }) => {
      const [short, long] = resumed;
      return [
        figure(`after ${shown(short.rounds)} steps`, short.tookMs, "ms"),
        figure("  records read", short.records, "count"),
        figure(`after ${shown(long.rounds)} steps`, long.tookMs, "ms"),
        figure("  records read", long.records, "count", atMost(150)),
        figure("  size of the snapshot", long.bytes, "bytes", atMost(short.bytes * 1.2)),
        figure("  CPU time ÷ that after the fewer", long.cpuMs / short.cpuMs, "ratio", atMost(1.5)),
      ];
    },
  };
}

/** @param {number} count */
function shown(count) {
  return count.toLocaleString("en-US");
}
