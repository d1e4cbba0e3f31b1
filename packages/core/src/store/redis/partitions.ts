import { createHash } from "node:crypto";
import { toWire } from "./wire-text.ts";

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

/** Which of so many partitions a run or a topic belongs to. The script says the same: `script/outbox.lua`. */
export function placeOf(text: string, count: number): number {
  return count === 1 ? 0 : createHash("sha1").update(toWire(text)).digest().readUInt32BE(0) % count;
}

/**
 * What the keys of each partition begin with. The slots of a cluster are mostly dealt out to its nodes in equal ranges, so the
 * partitions are spread evenly over all slots.
 */
export function partitionPrefixes(prefix: string, count: number): readonly string[] {
  if (count === 1) return [`{${prefix}}`];
  return Array.from({ length: count }, (_, index) => `{${tagWithin(prefix, index, count)}}`);
}

function tagWithin(prefix: string, index: number, count: number): string {
  for (let tries = 0; ; tries += 1) {
    const tag = `${prefix}:${index}.${tries}`;
    if (Math.floor((slotOf(tag) * count) / SLOTS) === index) return tag;
  }
}

/** The slot of a key whose hash tag this is. */
export function slotOf(tag: string): number {
  let sum = 0;
  for (const byte of Buffer.from(tag, "utf8")) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x8000) === 0 ? sum << 1 : (sum << 1) ^ POLYNOMIAL;
    sum &= 0xffff;
  }
  return sum % SLOTS;
}
