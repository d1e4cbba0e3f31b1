import { figureOf } from "../figure.mjs";

/**
 * The throughput of peers. Each is measured with 100 and with 1,000 runs in flight. Pawl is measured with 1,000. The better result of the
 * two in the same round is compared, so that each peer has a setting that suits it.
 *
 * @import { Figure } from "../figure.mjs"
 * @import { Part } from "../spawn.mjs"
 * @import { Pace } from "./pace.mjs"
 *
 * @typedef {object} Peer
 * @property {string} name The prefix of its parts.
 * @property {string} title
 * @property {number} briefly The number of runs in flight in a brief benchmark: 1,000 if the peer's warm-up is short with so many.
 */

const IN_FLIGHT = [100, 1_000];

/** @param {Pace} pace @param {Peer} peer */
function settingsOf({ brief }, { briefly }) {
  return brief ? [briefly] : IN_FLIGHT;
}

/** @param {Peer} peer @param {number} inFlight */
function partName({ name }, inFlight) {
  return `${name}${inFlight}`;
}

/** @param {Pace} pace @param {Peer} peer @param {(inFlight: number) => Omit<Part, "name">} partOf @returns {readonly Part[]} */
export function peerParts(pace, peer, partOf) {
  return settingsOf(pace, peer).map((inFlight) => ({
    ...partOf(inFlight),
    name: partName(peer, inFlight),
    peer: true,
  }));
}

/** The name of the ratio to the peer. @param {Pace} pace @param {Peer} peer */
export function ratioName(pace, peer) {
  return `  ÷ ${peer.title}${settingsOf(pace, peer).length > 1 ? ", its better" : ""}`;
}

/**
 * Steps per second of the better setting. NaN if there is no result.
 *
 * @param {Readonly<Record<string, any>>} results @param {readonly Peer[]} peers The best of them.
 */
export function bestOf(results, ...peers) {
  const rates = peers.flatMap((peer) =>
    IN_FLIGHT.map((inFlight) => results[partName(peer, inFlight)]?.stepsPerSecond).filter(Number.isFinite),
  );
  return rates.length === 0 ? Number.NaN : Math.max(...rates);
}

/**
 * @param {Pace} pace @param {Peer} peer @param {Readonly<Record<string, any>>} results
 * @param {(measured: any) => readonly Figure[]} costs
 * @returns {readonly Figure[]}
 */
export function peerFigures(pace, peer, results, costs) {
  return settingsOf(pace, peer).flatMap((inFlight) => {
    const measured = results[partName(peer, inFlight)] ?? {};
    const name = `${peer.title} steps/s, ${inFlight.toLocaleString("en-US")} in flight`;
    return [figureOf(measured, name, measured.stepsPerSecond, "count"), ...costs(measured)];
  });
}
