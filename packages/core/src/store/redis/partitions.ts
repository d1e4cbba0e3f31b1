import { createHash } from "node:crypto";
import { endedGenerationOf } from "../../model/names.ts";
import { toWire } from "./wire-text.ts";

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

/** The index of the partition that a run or topic belongs to. An ended generation is in the partition of its run. `partition_of` in `script/outbox.lua` returns the same. */
export function partitionOf(text: string, count: number): number {
  if (count === 1) return 0;
  const home = endedGenerationOf(text)?.runId ?? text;
  return createHash("sha1").update(toWire(home)).digest().readUInt32BE(0) % count;
}

/**
 * The key prefix of each partition. The nodes of a cluster mostly have equal ranges of slots, so the hash tags are chosen to spread the
 * partitions evenly over all slots.
 */
export function partitionPrefixes(prefix: string, count: number): readonly string[] {
  if (count === 1) return [`{${prefix}}`];
  return Array.from({ length: count }, (_, index) => `{${tagWithin(prefix, index, count)}}`);
}

function tagWithin(prefix: string, index: number, count: number): string {
  for (let attempt = 0; ; attempt += 1) {
    const tag = `${prefix}:${index}.${attempt}`;
    if (Math.floor((slotOf(tag) * count) / SLOTS) === index) return tag;
  }
}

/** The cluster slot of keys with this hash tag: CRC-16/XMODEM modulo the number of slots. */
export function slotOf(tag: string): number {
  let sum = 0;
  for (const byte of Buffer.from(tag, "utf8")) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x8000) === 0 ? sum << 1 : (sum << 1) ^ POLYNOMIAL;
    sum &= 0xffff;
  }
  return sum % SLOTS;
}
