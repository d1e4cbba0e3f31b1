import { startHelper } from "../helper-process.mjs";
import { openRows } from "../raw/rows.mjs";
import { median, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W4 across processes: the runs are hot in one process, and another process sends the messages. Both use the same clock. */

/** @param {{ place: import("../place.mjs").Place, runs: number, atATime: number, warmRounds: number }} options */
export async function measure({ place, runs, atATime, warmRounds }) {
  const worker = startHelper("pawl/wake-worker", { place });
  await worker.received("ready");
  const sender = await openEngine(place, []);
  const rows = await openRows(place);
  /** @type {Map<string, (at: bigint) => void>} */
  const awaited = new Map();
  worker.on("woke", ({ runId, at }) => awaited.get(runId)?.(BigInt(at)));
  const send = async (n) => {
    const runId = `run-${n}`;
    const woke = new Promise((resolve) => awaited.set(runId, resolve));
    const sentAt = process.hrtime.bigint();
    await sender.send(runId, "go", { n });
    return Number((await woke) - sentAt) / 1e6;
  };
  let took = [];
  let commits = [];
  for (let round = 0; round <= warmRounds; round += 1) {
    [took, commits] = [[], []];
    worker.send({ kind: "suspend", first: round * runs, count: runs });
    await worker.received("suspended");
    for (let n = round * runs; n < (round + 1) * runs; n += atATime) {
      took.push(...(await Promise.all(Array.from({ length: atATime }, (_, k) => send(n + k)))));
      commits.push(await rows.commit());
    }
  }
  await sender.shutdown();
  await worker.stop();
  await rows.close();
  return {
    commitMs: median(commits),
    wakeMs: median(took),
    wakeP95Ms: quantile(took, 0.95),
    wakeP99Ms: quantile(took, 0.99),
  };
}
