import { postgresBytes } from "../pawl/engine.mjs";
import { openPostgresCounter } from "../postgres-counter.mjs";
import { workOver } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { findPeer } from "./peer.mjs";

/**
 * W1 of a peer. If its worker takes runs from a queue, the queue is filled before the worker starts, so that starts take no time from it.
 */

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
  if (opened.direct) closedLoop(opened, inFlight);
  else await fillQueue(opened, runs);
  const bytesOf = opened.bytes ?? (() => postgresBytes(place.url));
  const filledBytes = opened.direct ? 0 : await bytesOf();
  const counter = opened.count ? { read: opened.count, close: NOTHING } : await openPostgresCounter(place.url);
  await opened.work();
  // Warm-up: the code is compiled, and as many runs have ended as are in flight, so starts and ends are measured with the steps.
  await warmed(() => steps, { warmMs, least: inFlight * NAMES.length });
  const { done, perSecond, cpuMicros, counts } = await workOver({ count: () => steps, read: counter.read, windowMs });
  if (!opened.direct && steps >= runs * NAMES.length) throw new Error(`${peer} ran out of runs; increase \`runs\``);
  const grownBytes = (await bytesOf()) - filledBytes;
  await counter.close();
  // The process exits without waiting for the runs in flight.
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    commitsPerStep: counts.commits / done,
    statementsPerStep: counts.statements / done,
    logBytesPerStep: counts.logBytes / done,
    serverMicrosPerStep: counts.serverMicros / done,
    bytesPerRun: filledBytes / runs + grownBytes / (steps / NAMES.length),
    settings: opened.settings,
  };
}

/** @param {import("./peer.mjs").Opened} opened @param {number} inFlight */
function closedLoop(opened, inFlight) {
  let started = 0;
  const client = async () => {
    for (;;) {
      started += 1;
      await (await opened.start("ten", { id: `run-${started}` })).result();
    }
  };
  for (let n = 0; n < inFlight; n += 1) void client();
}

/** @param {import("./peer.mjs").Opened} opened @param {number} runs */
async function fillQueue(opened, runs) {
  for (let n = 0; n < runs; n += FILLED_AT_A_TIME) {
    await Promise.all(Array.from({ length: FILLED_AT_A_TIME }, (_, k) => opened.start("ten", { id: `run-${n + k}` })));
  }
}
