import { openRows } from "../raw/rows.mjs";
import { median, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";
import { startSuspended, waiting } from "./suspended.mjs";

/** W4: each run waits for a message. Messages are sent `atATime` in parallel, with raw commits between them. */

/** @param {{ place: import("../place.mjs").Place, runs: number, atATime: number, warmRounds: number }} options */
export async function measure({ place, runs, atATime, warmRounds }) {
  /** @type {Map<string, (at: number) => void>} */
  const awaited = new Map();
  const definition = waiting((runId) => awaited.get(runId)?.(performance.now()));
  const engine = await openEngine(place, [definition]);
  const rows = await openRows(place);
  let commits = [];
  const send = async (n) => {
    const runId = `run-${n}`;
    const woke = new Promise((resolve) => awaited.set(runId, resolve));
    const sentAt = performance.now();
    await engine.send(runId, "go", { n });
    return (await woke) - sentAt;
  };
  const wakeAll = async (first) => {
    await startSuspended(engine, definition, { first, count: runs, atATime: 100 });
    const took = [];
    commits = [];
    for (let n = first; n < first + runs; n += atATime) {
      took.push(...(await Promise.all(Array.from({ length: atATime }, (_, k) => send(n + k)))));
      commits.push(await rows.commit());
    }
    return took;
  };
  for (let round = 0; round < warmRounds; round += 1) await wakeAll(round * runs);
  const took = await wakeAll(warmRounds * runs);
  await engine.shutdown();
  await rows.close();
  return {
    commitMs: median(commits),
    wakeMs: median(took),
    wakeP95Ms: quantile(took, 0.95),
    wakeP99Ms: quantile(took, 0.99),
  };
}
