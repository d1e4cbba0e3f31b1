import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process after the kill: how soon does the run's code go on? */

/** @param {{ folder: string, records: number }} options */
export async function measure({ folder, records }) {
  const openedAt = performance.now();
  let enteredAt = 0;
  const wentOnAt = await new Promise((resolve, reject) => {
    const long = longRun(
      () => {
        enteredAt = performance.now();
      },
      async () => resolve(performance.now()),
    );
    openEngine(folder, [long], { lease: LEASE_MS }).catch(reject);
  });
  return {
    recordsPerSecond: (records / (wentOnAt - enteredAt)) * 1_000,
    restartMs: wentOnAt,
    openToEnterMs: enteredAt - openedAt,
  };
}
