import * as elements from "bpmn-elements";
import { Engine } from "bpmn-engine";
import BpmnModdle from "bpmn-moddle";
import { Serializer, TypeResolver } from "moddle-context-serializer";
import { overWindow } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { TEN_TASKS } from "./model.mjs";

/**
 * bpmn-engine 25 in memory, without persistence. The document is read once, outside of the measurement. Services return at once.
 */

/** @param {{ inFlight: number, warmMs: number, warmTasks: number, windowMs: number }} options */
export async function measure({ inFlight, warmMs, warmTasks, windowMs }) {
  const sourceContext = Serializer(await new BpmnModdle().fromXML(TEN_TASKS), TypeResolver(elements));
  let tasks = 0;
  let isRunning = true;
  const services = {
    work(_scope, callback) {
      tasks += 1;
      callback(null, { ok: true });
    },
  };
  const runOne = () =>
    new Promise((resolve, reject) => {
      const engine = new Engine({ name: "ten", sourceContext, services });
      engine.once("end", resolve);
      engine.once("error", reject);
      engine.execute();
    });
  const clients = Array.from({ length: inFlight }, async () => {
    while (isRunning) {
      await runOne();
      await new Promise(setImmediate);
    }
  });
  await warmed(() => tasks, { warmMs, least: warmTasks });
  const { done, perSecond, cpuMicros } = await overWindow({ count: () => tasks, windowMs });
  isRunning = false;
  await Promise.all(clients);
  return { tasksPerSecond: perSecond, cpuMicrosPerTask: cpuMicros / done };
}
