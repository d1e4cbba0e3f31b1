import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pause } from "../stats.mjs";
import { openProcesses } from "./engine.mjs";
import { REPEATED_TASK } from "./model.mjs";

/** Another engine takes over a process after many repetitions: the records and bytes read, and the time. */

/** @param {{ place: import("../place.mjs").SqlitePlace, counts: readonly number[] }} options */
export async function measure({ place, counts }) {
  const resumed = [];
  for (const rounds of counts) {
    const folder = join(place.folder, String(rounds));
    mkdirSync(folder);
    const runId = await record(folder, rounds);
    await resume(folder, runId);
    resumed.push({ rounds, ...(await resume(folder, runId)) });
  }
  return { resumed };
}

/** @param {string} folder @param {number} rounds */
async function record(folder, rounds) {
  const where = { store: "sqlite", folder, synchronous: "NORMAL" };
  const { engine, bpmn } = await openProcesses(where, { serviceTask: ({ variables }) => ({ n: variables.n + 1 }) });
  await bpmn.deploy(REPEATED_TASK);
  const run = await bpmn.start("circle", { n: 0, rounds });
  while ((await run.status()) !== "suspended") await pause(50);
  await engine.shutdown();
  return run.id;
}

/** Sends a request that changes nothing, so that the run is loaded. @param {string} folder @param {string} runId */
async function resume(folder, runId) {
  const reading = { records: 0, bytes: 0 };
  const wrap = (store) => counted(store, runId, reading);
  const { engine, bpmn } = await openProcesses({ store: "sqlite", folder, synchronous: "NORMAL", wrap }, {});
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await bpmn.operate.setVariables(runId, { asked: startedAt });
  for (;;) {
    const { variables } = await bpmn.view(runId);
    if (variables.asked === startedAt) break;
    await pause(1);
  }
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  await engine.shutdown();
  return { tookMs, cpuMs: (user + system) / 1_000, ...reading };
}

/** Counts the records and bytes that are read of a run. @param {any} store @param {string} runId @param {{ records: number, bytes: number }} reading */
function counted(store, runId, reading) {
  const load = store.load.bind(store);
  store.load = async (id, afterSeq) => {
    const loaded = await load(id, afterSeq);
    if (id === runId) {
      reading.records = Math.max(reading.records, loaded?.records.length ?? 0);
      reading.bytes = Math.max(reading.bytes, loaded?.snapshot?.body?.length ?? 0);
    }
    return loaded;
  };
  return store;
}
