import { openEngine } from "./engine.mjs";
import { startSuspended, waiting } from "./suspended.mjs";

/** The process in which the runs of W4 across processes are hot. */

/** @param {{ place: import("../place.mjs").Place }} options @param {any} talk */
export async function takePart({ place }, { on, tell, stopped }) {
  const definition = waiting((runId) => tell({ kind: "woke", runId, at: String(process.hrtime.bigint()) }));
  const engine = await openEngine(place, [definition]);
  on("suspend", async ({ first, count }) => {
    await startSuspended(engine, definition, { first, count, atATime: 100 });
    tell({ kind: "suspended" });
  });
  tell({ kind: "ready" });
  await stopped;
  await engine.shutdown();
}
