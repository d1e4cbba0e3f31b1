import { busyMs } from "../process-cpu.mjs";
import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process after the kill: the time until the run's code resumes, and the same again in the warm process. */

/**
 * Opens an engine. Returns when the run's code is entered and when it resumes after the replay.
 *
 * @param {import("../place.mjs").Place} place
 * @param {number} records
 */
async function replay(place, records) {
  const openedAt = performance.now();
  let enteredAt = 0;
  let busyBefore = 0;
  /** @type {(resumed: { resumedAt: number, busy: number }) => void} */
  let onResumed = () => undefined;
  const resumed = new Promise((resolve) => {
    onResumed = resolve;
  });
  const long = longRun(
    () => {
      enteredAt = performance.now();
      busyBefore = busyMs();
    },
    async () => onResumed({ resumedAt: performance.now(), busy: busyMs() - busyBefore }),
  );
  const engine = await openEngine(place, [long], { lease: LEASE_MS });
  const { resumedAt, busy } = await resumed;
  const tookMs = resumedAt - enteredAt;
  // Replay waits for nothing, so its CPU time is used, which other work on the host does not affect.
  const recordsPerSecond = (records / Math.min(tookMs, busy)) * 1_000;
  return { engine, recordsPerSecond, tookMs, resumedAt, openToEnterMs: enteredAt - openedAt };
}

/** @param {{ place: import("../place.mjs").Place, records: number }} options */
export async function measure({ place, records }) {
  const { engine, resumedAt, ...first } = await replay(place, records);
  await engine.shutdown({ drainMs: 0 });
  // The second replay runs compiled code, as in a worker that has been running for a while.
  const again = await replay(place, records);
  const { recordsPerSecond, tookMs, openToEnterMs } = first;
  return { recordsPerSecond, tookMs, openToEnterMs, restartMs: resumedAt, againPerSecond: again.recordsPerSecond };
}
