import { postgresBytes } from "../pawl/engine.mjs";
import { openPostgresCounter } from "../postgres-counter.mjs";
import { workOver } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { findPeer } from "./peer.mjs";

/**
 * W1 of a peer. Where a worker takes runs from a queue, they lie there before it starts, so that it need not share its time with
 * whoever starts them.
 */

/** By then it has been compiled. */
const WARM_STEPS = 1_000;
const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);
const FILLED_AT_A_TIME = 40;
const NOTHING = async () => undefined;

/**
 * @param {{ place: import("../place.mjs").PostgresPlace, peer: string, inFlight: number, runs: number, warmMs: number,
 *   windowMs: number }} options
 */
export async function measure({ place, peer, inFlight, runs, warmMs, windowMs }) {
  let steps = 0;
  const ten = async ({ step }) => {
    for (let n = 0; n < NAMES.length; n += 1) {
      await step(NAMES[n], async () => {
        steps += 1;
        return { step: n, ok: true };
      });
    }
    return { done: true };
  };
  const openPeer = await findPeer(peer);
  const opened = await openPeer(place.url, { inFlight, flows: { ten } });
  const load = opened.direct ? closedLoop(opened, inFlight) : await filledQueue(opened, runs);
  const counter = opened.count ? { read: opened.count, close: NOTHING } : await openPostgresCounter(place.url);
  await opened.work();
  await warmed(() => steps, { warmMs, least: WARM_STEPS });
  const { done, perSecond, cpuMicros, counts } = await workOver({ count: () => steps, read: counter.read, windowMs });
  if (!opened.direct && steps >= runs * NAMES.length) throw new Error(`${peer} ran out of runs: give it more`);
  await load.end();
  const bytes = await (opened.bytes ?? (() => postgresBytes(place.url)))();
  await opened.stop();
  await counter.close();
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    commitsPerStep: counts.commits / done,
    statementsPerStep: counts.statements / done,
    logBytesPerStep: counts.logBytes / done,
    serverMicrosPerStep: counts.serverMicros / done,
    bytesPerRun: bytes / (steps / NAMES.length),
    settings: opened.settings,
  };
}

/** @param {import("./peer.mjs").Opened} opened @param {number} inFlight */
function closedLoop(opened, inFlight) {
  let [going, started] = [true, 0];
  const clients = Array.from({ length: inFlight }, async () => {
    while (going) {
      started += 1;
      await (await opened.start("ten", { id: `run-${started}` })).result();
    }
  });
  return {
    async end() {
      going = false;
      await Promise.all(clients);
    },
  };
}

/** @param {import("./peer.mjs").Opened} opened @param {number} runs */
async function filledQueue(opened, runs) {
  for (let n = 0; n < runs; n += FILLED_AT_A_TIME) {
    await Promise.all(Array.from({ length: FILLED_AT_A_TIME }, (_, k) => opened.start("ten", { id: `run-${n + k}` })));
  }
  return { end: async () => undefined };
}
