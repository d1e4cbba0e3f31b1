import { openCounter } from "../pawl/counter.mjs";
import { pause, workOver } from "../stats.mjs";
import { findQueue } from "./queue.mjs";

/** Jobs per second of a worker of a plain queue. All jobs are added before it starts. */

/** The shares of completed jobs at which the warm-up and the window end, so that the queue never runs empty. */
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
  // The process exits without waiting for the remaining jobs.
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
