import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process after the kill: how soon does the run's code go on? */

/** @param {{ folder: string, records: number }} options */
export async function measure({ folder, records }) {
  const openedAt = performance.now();
  let enteredAt = 0;
  let cpuBefore = process.cpuUsage();
  const { wentOnAt, cpu } = await new Promise((resolve, reject) => {
    const long = longRun(
      () => {
        enteredAt = performance.now();
        cpuBefore = process.cpuUsage();
      },
      async () => resolve({ wentOnAt: performance.now(), cpu: process.cpuUsage(cpuBefore) }),
    );
    openEngine(folder, [long], { lease: LEASE_MS }).catch(reject);
  });
  const tookMs = wentOnAt - enteredAt;
  // Replay waits for nothing: on a machine that others use too, what counts is the time in which it had a core.
  const busyMs = Math.min(tookMs, (cpu.user + cpu.system) / 1_000);
  return {
    recordsPerSecond: (records / busyMs) * 1_000,
    tookMs,
    restartMs: wentOnAt,
    openToEnterMs: enteredAt - openedAt,
  };
}
