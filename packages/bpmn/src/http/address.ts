/**
 * Decides which IP addresses a request may reach. Addresses are compared as bytes, so no alternative spelling passes a check. Text
 * that is not an address counts as not public.
 */

/** Returns true only if the address is certainly public. */
export function isPublicAddress(text: string): boolean {
  const bytes = addressBytes(text);
  if (bytes === null) return false;
  if (bytes.length === 4) return !NON_PUBLIC_4.some((network) => isIn(bytes, network));
  return isIn(bytes, PUBLIC_6) && !NON_PUBLIC_6.some((network) => isIn(bytes, network));
}

/** Parses an address to 4 or 16 bytes. Null if the text is not an IP address. */
export function addressBytes(text: string): readonly number[] | null {
  return text.includes(":") ? bytesOf6(text) : bytesOf4(text);
}

function bytesOf4(text: string): readonly number[] | null {
  const parts = text.split(".");
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/.test(part))) return null;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : null;
}

function bytesOf6(text: string): readonly number[] | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [head, tail] = halves.map((half) => (half === "" ? [] : groupsOf(half)));
  if (head === null || tail === null || head === undefined) return null;
  if (tail === undefined) return head.length === 16 ? head : null;
  const missing = 16 - head.length - tail.length;
  return missing >= 2 ? [...head, ...Array.from({ length: missing }, () => 0), ...tail] : null;
}

function groupsOf(text: string): readonly number[] | null {
  const groups = text.split(":");
  const bytes: number[] = [];
  for (const [i, group] of groups.entries()) {
    const mapped = i === groups.length - 1 && group.includes(".") ? bytesOf4(group) : null;
    if (mapped !== null) bytes.push(...mapped);
    else if (/^[0-9a-fA-F]{1,4}$/.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255);
    else return null;
  }
  return bytes;
}

/** IPv4 networks that are not public: base address and prefix length. */
const NON_PUBLIC_4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // The host agent of Azure, reachable from every virtual machine. It is public by number only.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Only 2000::/3 of IPv6 is public, except NON_PUBLIC_6: reserved networks, and networks that embed an unchecked IPv4 address. */
const PUBLIC_6: readonly [string, number] = ["2000::", 3];
const NON_PUBLIC_6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

function isIn(bytes: readonly number[], [network, bits]: readonly [string, number]): boolean {
  const base = addressBytes(network) ?? [];
  return bytes.every((byte, i) => {
    const counted = Math.min(8, Math.max(0, bits - i * 8));
    return (byte ^ (base[i] ?? 0)) >> (8 - counted) === 0;
  });
}
