import { statSync } from "node:fs";
import { join } from "node:path";
import { settingsOf } from "../driver.mjs";
import { workOver } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { openPeer } from "./engine.mjs";

/** W1. Its runs are created before the measurement, because its clients poll for results once a second. */

/** @param {{ place: import("../place.mjs").SqlitePlace, inFlight: number, warmMs: number, windowMs: number, runs: number }} options */
export async function measure({ place, inFlight, warmMs, windowMs, runs }) {
  const { backend, client } = await openPeer(place.folder);
  let steps = 0;
  const ten = client.defineWorkflow({ name: "ten" }, async ({ step }) => {
    for (let n = 0; n < 10; n += 1) {
      await step.run({ name: `step-${n}` }, async () => {
        steps += 1;
        return { step: n, ok: true };
      });
    }
    return { done: true };
  });
  backend.db.exec("BEGIN");
  for (let n = 0; n < runs; n += 1) await ten.run({ id: n });
  backend.db.exec("COMMIT");
  const path = join(place.folder, "openworkflow.db");
  const bytes = () => {
    backend.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return statSync(path).size;
  };
  const filledBytes = bytes();
  const worker = client.newWorker({ concurrency: inFlight });
  await worker.start();
  // Warm-up: the code is compiled, and as many runs have ended as are in flight, so starts and ends are measured with the steps.
  await warmed(() => steps, { warmMs, least: inFlight * 10 });
  const { done, perSecond, cpuMicros } = await workOver({ count: () => steps, windowMs });
  if (steps === runs * 10) throw new Error("openworkflow ran out of runs; increase `runs`");
  // The process exits without waiting for the runs in flight.
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    bytesPerRun: filledBytes / runs + (bytes() - filledBytes) / (steps / 10),
    settings: `${settingsOf(backend.db)}, concurrency ${inFlight}`,
  };
}
