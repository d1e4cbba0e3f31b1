/**
 * MurmurHash3 (x86 variants) over the UTF-16 code units of a text, each as two bytes, low byte first. The result is the same on every
 * platform and must never change, because stored ids depend on it. Not for security: collisions can be constructed.
 */

/** Arbitrary, but fixed. */
const SEED = 0x9747b28c;

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function finish(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** Returns two code units from `index` on as one word. Units behind the end are 0. */
function wordAt(text: string, index: number): number {
  const low = index < text.length ? text.charCodeAt(index) : 0;
  const high = index + 1 < text.length ? text.charCodeAt(index + 1) : 0;
  return low | (high << 16);
}

/** Returns an integer in [0, 2^32). */
export function hash32(text: string): number {
  const scramble = (word: number): number => Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
  const whole = text.length & ~1;
  let hash = SEED;
  for (let index = 0; index < whole; index += 2) {
    hash = (Math.imul(rotate(hash ^ scramble(wordAt(text, index)), 13), 5) + 0xe6546b64) | 0;
  }
  if (whole < text.length) hash ^= scramble(wordAt(text, whole));
  return finish(hash ^ (text.length * 2)) >>> 0;
}

/** The four words of a block are scrambled with different constants. */
const scramble1 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x239b961b), 15), 0xab0e9789);
const scramble2 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xab0e9789), 16), 0x38b34ae5);
const scramble3 = (word: number): number => Math.imul(rotate(Math.imul(word, 0x38b34ae5), 17), 0xa1e38b93);
const scramble4 = (word: number): number => Math.imul(rotate(Math.imul(word, 0xa1e38b93), 18), 0x239b961b);

/** Returns 32 hexadecimal digits. */
export function hash128(text: string): string {
  let a = SEED;
  let b = SEED;
  let c = SEED;
  let d = SEED;
  const whole = text.length & ~7;
  for (let index = 0; index < whole; index += 8) {
    a = (Math.imul(rotate(a ^ scramble1(wordAt(text, index)), 19) + b, 5) + 0x561ccd1b) | 0;
    b = (Math.imul(rotate(b ^ scramble2(wordAt(text, index + 2)), 17) + c, 5) + 0x0bcaa747) | 0;
    c = (Math.imul(rotate(c ^ scramble3(wordAt(text, index + 4)), 15) + d, 5) + 0x96cd1c35) | 0;
    d = (Math.imul(rotate(d ^ scramble4(wordAt(text, index + 6)), 13) + a, 5) + 0x32ac3b17) | 0;
  }
  // A word of zeros scrambles to zero, so words behind the end change nothing.
  a ^= scramble1(wordAt(text, whole));
  b ^= scramble2(wordAt(text, whole + 2));
  c ^= scramble3(wordAt(text, whole + 4));
  d ^= scramble4(wordAt(text, whole + 6));
  return digits(text.length * 2, a, b, c, d);
}

function digits(bytes: number, ...lanes: readonly [number, number, number, number]): string {
  const [a, b, c, d] = spread(lanes.map((lane) => lane ^ bytes)).map(finish) as [number, number, number, number];
  return spread([a, b, c, d])
    .map((lane) => (lane >>> 0).toString(16).padStart(8, "0"))
    .join("");
}

/** Adds every lane to every other. */
function spread(lanes: readonly number[]): readonly number[] {
  const sum = lanes.reduce((total, lane) => (total + lane) | 0, 0);
  return lanes.map((lane, index) => (index === 0 ? sum : (lane + sum) | 0));
}
