import { workflow } from "pawl";
import { findDriver, settingsOf } from "../driver.mjs";
import { overWindow, pause } from "../stats.mjs";
import { counted } from "./counted.mjs";
import { databaseBytes, databasePath, openEngine } from "./engine.mjs";

/** W1: runs of ten trivial steps, a fixed number of them in flight. */

const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** @param {{ folder: string, inFlight: number, warmMs: number, windowMs: number, counting?: boolean }} options */
export async function measure({ folder, inFlight, warmMs, windowMs, counting = false }) {
  let steps = 0;
  const ten = workflow("ten", async (ctx) => {
    for (let step = 0; step < NAMES.length; step += 1) {
      await ctx.step(NAMES[step], async () => {
        steps += 1;
        return { step, ok: true };
      });
    }
    return { done: true };
  });
  const database = counting ? new (findDriver().DatabaseSync)(databasePath(folder)) : null;
  const counter = database === null ? null : counted(database);
  const engine = await openEngine(folder, [ten], counter === null ? {} : { source: counter.source });
  let runs = 0;
  let going = true;
  const clients = Array.from({ length: inFlight }, async () => {
    while (going) {
      const run = await engine.start(ten, { id: runs });
      runs += 1;
      await run.result();
    }
  });
  await pause(warmMs);
  const before = { ...counter?.counts };
  const { counted: done, perSecond, cpuMicros } = await overWindow(() => steps, windowMs);
  const after = { ...counter?.counts };
  going = false;
  await Promise.all(clients);
  const settings = database === null ? null : settingsOf(database);
  await engine.shutdown();
  database?.close();
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    commitsPerStep: (after.commits - before.commits) / done,
    statementsPerStep: (after.statements - before.statements) / done,
    bytesPerRun: databaseBytes(folder) / runs,
    settings,
  };
}
