/** The source of randomness and ids. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A unique id. Ids sort by creation time. */
  id(now: number): string;
}

/** Uses `Math.random`. Ids are UUIDs of version 7. */
export function systemRandom(): Random {
  return { next: () => Math.random(), id: (now) => uuid7(now, () => Math.random()) };
}

/** The same seed gives the same numbers and ids. */
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

const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** The characters of the last id. Ids of the same millisecond share the time part. */
const characters: number[] = Array.from("00000000-0000-7000-8000-000000000000", (character) => character.charCodeAt(0));
let timeOfLast = 0;

/** Reuses one array for speed, because every start and every message needs an id. Builds a flat string, not a concatenation. */
function uuid7(now: number, next: () => number): string {
  if (now !== timeOfLast) writeTime(now);
  writeByte(14, 0x70 | (byte(next) & 0x0f));
  writeByte(16, byte(next));
  writeByte(19, 0x80 | (byte(next) & 0x3f));
  writeByte(21, byte(next));
  for (let at = 24; at < 36; at += 2) writeByte(at, byte(next));
  return String.fromCharCode.apply(null, characters);
}

function writeTime(now: number): void {
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0");
  for (let index = 0; index < 12; index += 1) characters[index < 8 ? index : index + 1] = time.charCodeAt(index);
  timeOfLast = now;
}

function writeByte(at: number, value: number): void {
  characters[at] = DIGITS[value >> 4] ?? 48;
  characters[at + 1] = DIGITS[value & 15] ?? 48;
}

function byte(next: () => number): number {
  return Math.floor(next() * 256);
}
