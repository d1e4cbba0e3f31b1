import { openProcesses } from "./engine.mjs";
import { EACH_ITEM } from "./model.mjs";

/** A process with a parallel service task for each item of a list: CPU time per item, by the length of the list. */

/** @param {{ place: import("../place.mjs").SqlitePlace, store: "memory" | "sqlite", counts: readonly number[] }} options */
export async function measure({ place, store, counts }) {
  const { engine, bpmn } = await openProcesses({ store, folder: place.folder }, { serviceTask: () => ({ ok: true }) });
  await bpmn.deploy(EACH_ITEM);
  await micros(bpmn, counts[0]);
  const items = [];
  for (const count of counts) items.push({ count, microsPerItem: await micros(bpmn, count) });
  await engine.shutdown();
  return { items };
}

/** The median over several processes, with about the same total number of items for each length. @param {any} bpmn @param {number} count */
async function micros(bpmn, count) {
  const times = [];
  for (let i = 0; i < Math.max(3, 10_000 / count); i += 1) {
    const before = process.cpuUsage();
    const run = await bpmn.start("each", { list: Array.from({ length: count }, (_, n) => n) });
    await run.result();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / count);
  }
  return times.sort((left, right) => left - right)[Math.floor(times.length / 2)];
}
