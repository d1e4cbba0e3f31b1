import { openEngine } from "./engine.mjs";
import { LEASE_MS, longRun } from "./long-run.mjs";

/** W5, the process that is killed: it records the steps and is killed during the next one. */

/** @param {{ place: import("../place.mjs").Place, records: number }} options */
export async function measure({ place, records }) {
  await new Promise((resolve, reject) => {
    const long = longRun(
      () => undefined,
      async () => resolve(undefined),
    );
    // Only the second process is measured; this one only writes the records.
    openEngine(place, [long], { careless: true, lease: LEASE_MS })
      .then((engine) => engine.start(long, records, { id: "long" }))
      .catch(reject);
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { recorded: records };
}
