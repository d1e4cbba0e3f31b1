import { openCounter } from "../pawl/counter.mjs";
import { overWindow, pause } from "../stats.mjs";
import { findQueue } from "./queue.mjs";

/** What a worker of a plain queue does in a second. All jobs lie there before it starts. */

/** What is left of the jobs when a window ends before its time: a queue that runs dry is not measured. */
const SHARE_LEFT = 0.05;

/** @param {{ place: import("../place.mjs").Place, queue: string, jobs: number, warmMs: number, windowMs: number }} options */
export async function measure({ place, queue, jobs, warmMs, windowMs }) {
  let done = 0;
  const openQueue = await findQueue(queue);
  const opened = await openQueue(place, async () => {
    done += 1;
    return { ok: true };
  });
  await opened.fill(jobs);
  const counter = await openCounter(place, false);
  await opened.work();
  while (done === 0) await pause(10);
  await pause(warmMs);
  const window = await overWindow({
    count: () => done,
    read: counter.read,
    windowMs,
    isOver: () => done > jobs * (1 - SHARE_LEFT),
  });
  await counter.close();
  // What is left of the jobs is of no interest, and some take long to stop: the process ends with them.
  return {
    jobsPerSecond: window.perSecond,
    cpuMicrosPerJob: window.cpuMicros / window.done,
    serverMicrosPerJob: window.counts.serverMicros / window.done,
    commitsPerJob: window.counts.commits / window.done,
    statementsPerJob: window.counts.statements / window.done,
    tookMs: window.tookMs,
    settings: opened.settings,
  };
}
