import { openCounter } from "../pawl/counter.mjs";
import { pause, workOver } from "../stats.mjs";
import { findQueue } from "./queue.mjs";

/** What a worker of a plain queue does in a second. All jobs lie there before it starts. */

/** A queue that runs dry is not measured: warming ends when this share of the jobs is done, and the window at that one. */
const SHARES = { warm: 0.3, window: 0.95 };

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
  const warmUntil = performance.now() + warmMs;
  while (performance.now() < warmUntil && done < jobs * SHARES.warm) await pause(5);
  const window = await workOver({
    count: () => done,
    read: counter.read,
    windowMs,
    isOver: () => done > jobs * SHARES.window,
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
