import { openEngine } from "./engine.mjs";
import { startSuspended, waiting } from "./suspended.mjs";

/** The process with the hot runs of W4 across processes. */

/** @param {{ place: import("../place.mjs").Place }} options @param {any} talk */
export async function runHelper({ place }, { on, send, stopped }) {
  const definition = waiting((runId) => send({ kind: "woke", runId, at: String(process.hrtime.bigint()) }));
  const engine = await openEngine(place, [definition]);
  on("suspend", async ({ first, count }) => {
    await startSuspended(engine, definition, { first, count, atATime: 100 });
    send({ kind: "suspended" });
  });
  send({ kind: "ready" });
  await stopped;
  await engine.shutdown();
}
