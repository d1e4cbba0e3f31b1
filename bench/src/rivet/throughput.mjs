import { runWorkflow } from "@rivetkit/workflow-engine";
import { workOver } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { openKv } from "./driver.mjs";

/** W1 of Rivet's workflow engine: this process starts and awaits runs, with a fixed number in flight. */

const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** @param {{ place: import("../place.mjs").SqlitePlace, inFlight: number, warmMs: number, windowMs: number }} options */
export async function measure({ place, inFlight, warmMs, windowMs }) {
  const kv = openKv(place.folder);
  let [steps, runs] = [0, 0];
  const ten = async (ctx) => {
    for (let n = 0; n < NAMES.length; n += 1) {
      await ctx.step(NAMES[n], async () => {
        steps += 1;
        return { step: n, ok: true };
      });
    }
    return { done: true };
  };
  const client = async () => {
    for (;;) {
      runs += 1;
      const run = runWorkflow(`run-${runs}`, ten, { id: runs }, kv.of(runs), { mode: "live" });
      await run.result;
      // The engine waits only for promises. Without a turn of the event loop no timer would fire.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  for (let n = 0; n < inFlight; n += 1) void client();
  // Warm-up: the code is compiled, and as many runs have ended as are in flight, so starts and ends are measured with the steps.
  await warmed(() => steps, { warmMs, least: inFlight * NAMES.length });
  const before = kv.commits();
  const { done, perSecond, cpuMicros } = await workOver({ count: () => steps, windowMs });
  const commits = kv.commits() - before;
  // The process exits without waiting for the runs in flight.
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    commitsPerStep: commits / done,
    bytesPerRun: kv.bytes() / (steps / NAMES.length),
    settings: `${kv.settings}, mode live, ${inFlight} in flight, a key-value table over SQLite`,
  };
}
