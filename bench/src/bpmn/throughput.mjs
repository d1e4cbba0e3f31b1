import { overWindow } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { openProcesses } from "./engine.mjs";
import { TEN_TASKS } from "./model.mjs";

/** Processes of ten service tasks, with a fixed number in flight. */

/** @param {{ place: import("../place.mjs").SqlitePlace, store: "memory" | "sqlite", inFlight: number, warmMs: number, warmTasks: number, windowMs: number }} options */
export async function measure({ place, store, inFlight, warmMs, warmTasks, windowMs }) {
  let tasks = 0;
  const serviceTask = () => {
    tasks += 1;
    return { ok: true };
  };
  const { engine, bpmn } = await openProcesses({ store, folder: place.folder }, { serviceTask });
  await bpmn.deploy(TEN_TASKS);
  let isRunning = true;
  const clients = Array.from({ length: inFlight }, async (_, id) => {
    while (isRunning) await (await bpmn.start("ten", { id })).result();
  });
  await warmed(() => tasks, { warmMs, least: warmTasks });
  const { done, perSecond, cpuMicros } = await overWindow({ count: () => tasks, windowMs });
  isRunning = false;
  await Promise.all(clients);
  await engine.shutdown();
  return { tasksPerSecond: perSecond, cpuMicrosPerTask: cpuMicros / done };
}
