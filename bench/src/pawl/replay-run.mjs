import { busyMs } from "../process-cpu.mjs";
import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process after the kill: how soon does the run's code go on, and how soon once more, where the process has been at work? */

/**
 * Opens an engine and tells when the run's code is entered and when it goes on.
 *
 * @param {import("../place.mjs").Place} place
 * @param {number} records
 */
async function replay(place, records) {
  const openedAt = performance.now();
  let enteredAt = 0;
  let busyBefore = 0;
  /** @type {(went: { wentOnAt: number, busy: number }) => void} */
  let goesOn = () => undefined;
  const wentOn = new Promise((resolve) => {
    goesOn = resolve;
  });
  const long = longRun(
    () => {
      enteredAt = performance.now();
      busyBefore = busyMs();
    },
    async () => goesOn({ wentOnAt: performance.now(), busy: busyMs() - busyBefore }),
  );
  const engine = await openEngine(place, [long], { lease: LEASE_MS });
  const { wentOnAt, busy } = await wentOn;
  const tookMs = wentOnAt - enteredAt;
  // Replay waits for nothing: on a machine that others use too, what counts is the time in which it had a core.
  const recordsPerSecond = (records / Math.min(tookMs, busy)) * 1_000;
  return { engine, recordsPerSecond, tookMs, wentOnAt, openToEnterMs: enteredAt - openedAt };
}

/** @param {{ place: import("../place.mjs").Place, records: number }} options */
export async function measure({ place, records }) {
  const { engine, wentOnAt, ...first } = await replay(place, records);
  await engine.shutdown({ drainMs: 0 });
  // As a worker replays it that has been at work: the compiler knows the code by then.
  const again = await replay(place, records);
  const { recordsPerSecond, tookMs, openToEnterMs } = first;
  return { recordsPerSecond, tookMs, openToEnterMs, restartMs: wentOnAt, againPerSecond: again.recordsPerSecond };
}
