/** Randomness and ids, as the engine sees them. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An id that is unique and sorts by time of creation. */
  id(now: number): string;
}

/** The machine's randomness; ids are UUIDs of version 7. */
export function systemRandom(): Random {
  return { next: () => Math.random(), id: (now) => uuid7(now, () => Math.random()) };
}

/** A repeatable sequence: the same seed gives the same numbers and ids. */
export function seededRandom(seed: number): Random {
  const next = seededSequence(seed);
  return { next, id: (now) => uuid7(now, next) };
}

/** Numbers in [0, 1) by the mulberry32 recurrence. */
export function seededSequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The time of the last id, as the next begins with it: many are of one millisecond. */
let latest = { now: 0, text: "00000000-0000" };

function timeText(now: number): string {
  if (now === latest.now) return latest.text;
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0");
  latest = { now, text: `${time.slice(0, 8)}-${time.slice(8)}` };
  return latest.text;
}

/** Written out, because every start and every message has one. */
function uuid7(now: number, next: () => number): string {
  const third = hexOf(0x70 | (byte(next) & 0x0f)) + hexOf(byte(next));
  const fourth = hexOf(0x80 | (byte(next) & 0x3f)) + hexOf(byte(next));
  const last =
    hexOf(byte(next)) +
    hexOf(byte(next)) +
    hexOf(byte(next)) +
    hexOf(byte(next)) +
    hexOf(byte(next)) +
    hexOf(byte(next));
  // A template would be kept as a tree of its parts, five times as large.
  return [timeText(now), third, fourth, last].join("-");
}

function byte(next: () => number): number {
  return Math.floor(next() * 256);
}

function hexOf(value: number): string {
  return HEX[value] ?? "00";
}
