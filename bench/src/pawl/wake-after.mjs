import { workflow } from "pawl";
import { median } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/**
 * W5wake: hot runs with few records and hot runs with many records receive the same messages in turn. CPU time is compared, because the
 * commit costs both the same.
 */

const WARM_ROUNDS = 30;

/** @param {{ place: import("../place.mjs").Place, runs: number, few: number, many: number, rounds: number }} options */
export async function measure({ place, runs, few, many, rounds }) {
  /** @type {Map<string, (value: unknown) => void>} */
  const awaited = new Map();
  const wakes = WARM_ROUNDS + rounds + 1;
  const listening = workflow("listening", async (ctx, records) => {
    for (let step = 0; step < records; step += 1) await ctx.step(`step-${step}`, async () => ({ step, ok: true }));
    awaited.get(ctx.runId)?.(undefined);
    for (let n = 0; n < wakes; n += 1) {
      await ctx.listen("go");
      awaited.get(ctx.runId)?.(undefined);
    }
  });
  const engine = await openEngine(place, [listening]);
  const received = (id) => new Promise((resolve) => awaited.set(id, resolve));
  const begin = async (kind, records) => {
    const ids = Array.from({ length: runs }, (_, n) => `${kind}-${n}`);
    const ready = ids.map(received);
    await Promise.all(ids.map((id) => engine.start(listening, records, { id })));
    await Promise.all(ready);
    return ids;
  };
  const groups = { few: await begin("few", few), many: await begin("many", many) };
  /** @param {readonly string[]} ids */
  const wake = async (ids) => {
    const before = process.cpuUsage();
    const woke = ids.map(received);
    await Promise.all(ids.map((id) => engine.send(id, "go", null)));
    await Promise.all(woke);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / ids.length;
  };
  const took = { few: [], many: [] };
  for (let round = 0; round < WARM_ROUNDS + rounds; round += 1) {
    for (const kind of round % 2 === 0 ? ["few", "many"] : ["many", "few"]) {
      const micros = await wake(groups[kind]);
      if (round >= WARM_ROUNDS) took[kind].push(micros);
    }
  }
  await engine.shutdown();
  // Each round is compared with itself, because other work on the host varies.
  const growths = took.many.map((micros, round) => micros / took.few[round]);
  return { fewMicros: median(took.few), manyMicros: median(took.many), growth: median(growths) };
}
