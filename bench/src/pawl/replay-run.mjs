import { readFileSync } from "node:fs";
import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process after the kill: how soon does the run's code go on? */

/**
 * Ms for which this thread had a core. Those of the whole process would count what the compiler does beside it; they are
 * taken where the system does not tell.
 */
function busyMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

/** @param {{ place: import("../place.mjs").Place, records: number }} options */
export async function measure({ place, records }) {
  const openedAt = performance.now();
  let enteredAt = 0;
  let busyBefore = 0;
  const { wentOnAt, busy } = await new Promise((resolve, reject) => {
    const long = longRun(
      () => {
        enteredAt = performance.now();
        busyBefore = busyMs();
      },
      async () => resolve({ wentOnAt: performance.now(), busy: busyMs() - busyBefore }),
    );
    openEngine(place, [long], { lease: LEASE_MS }).catch(reject);
  });
  const tookMs = wentOnAt - enteredAt;
  // Replay waits for nothing: on a machine that others use too, what counts is the time in which it had a core.
  return {
    recordsPerSecond: (records / Math.min(tookMs, busy)) * 1_000,
    tookMs,
    restartMs: wentOnAt,
    openToEnterMs: enteredAt - openedAt,
  };
}
