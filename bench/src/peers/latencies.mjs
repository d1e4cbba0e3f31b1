import { median, pause, quantile } from "../stats.mjs";
import { findPeer } from "./peer.mjs";

/** W2, W3 and W4 of a peer, in one process and smaller than ours, because no bar depends on them. */

const GAP_MS = 25;
/** Long enough for a peer to store the wait of a run. */
const SETTLE_MS = 1_500;

/** @param {{ place: import("../place.mjs").PostgresPlace, peer: string, steps: number, runs: number, waiting: number }} options */
export async function measure({ place, peer, steps, runs, waiting }) {
  const seen = { marks: [], ranAt: 0, waits: 0, awaited: new Map() };
  const openPeer = await findPeer(peer);
  const opened = await openPeer(place.url, { inFlight: 100, flows: flowsOf(seen, steps) });
  await opened.work();
  await (await opened.start("one", { id: "warm" })).result();
  const stepMs = await sequence(opened, seen);
  const { ran, results } = await starts(opened, seen, runs);
  const took = await wakes(opened, seen, waiting);
  await opened.stop();
  return {
    stepMs,
    ranMs: median(ran),
    resultMs: median(results),
    wakeMs: median(took),
    wakeP95Ms: quantile(took, 0.95),
    settings: opened.settings,
  };
}

function flowsOf(seen, steps) {
  return {
    many: async ({ step }) => {
      for (let n = 0; n < steps; n += 1) {
        await step(`step-${n}`, async () => {
          seen.marks.push(performance.now());
          return { step: n, ok: true };
        });
      }
    },
    one: async ({ step }) => {
      return await step("only", async () => {
        seen.ranAt = performance.now();
        return { ok: true };
      });
    },
    waiter: async ({ wait }, { id }) => {
      seen.waits += 1;
      await wait();
      seen.awaited.get(id)?.(performance.now());
    },
  };
}

async function sequence(opened, seen) {
  await (await opened.start("many", { id: "many" })).result();
  return median(seen.marks.slice(1).map((at, index) => at - seen.marks[index]));
}

async function starts(opened, seen, runs) {
  const [ran, results] = [[], []];
  for (let n = 0; n < runs; n += 1) {
    await pause(GAP_MS);
    const startedAt = performance.now();
    await (await opened.start("one", { id: `one-${n}` })).result();
    results.push(performance.now() - startedAt);
    ran.push(seen.ranAt - startedAt);
  }
  return { ran, results };
}

async function wakes(opened, seen, waiting) {
  const ids = Array.from({ length: waiting }, (_, n) => `waiter-${n}`);
  await Promise.all(ids.map((id) => opened.start("waiter", { id })));
  while (seen.waits < waiting) await pause(50);
  await pause(SETTLE_MS);
  return await Promise.all(
    ids.map(async (id) => {
      const woke = new Promise((resolve) => seen.awaited.set(id, resolve));
      const sentAt = performance.now();
      await opened.send(id);
      return (await woke) - sentAt;
    }),
  );
}
