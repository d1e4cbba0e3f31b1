import { builtinModule } from "../../runtime/platform.ts";
import type { UserCodeLocation } from "./user-code-location.ts";

/**
 * Replacements of the platform's sources of randomness in step bodies, with the same values in each schedule. They return undefined for
 * arguments that only the platform's own function supports.
 */

const buffers = builtinModule<typeof import("node:buffer")>("node:buffer");

export function uuidFor(place: UserCodeLocation): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(place.random() * 16).toString(16)).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

export function filledFor(place: UserCodeLocation, array: unknown): unknown {
  if (!ArrayBuffer.isView(array)) return undefined;
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = Math.floor(place.random() * 256);
  return array;
}

export function bytesFor(place: UserCodeLocation, size: unknown, callback?: unknown): unknown {
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0 || callback !== undefined) return undefined;
  return filledFor(place, buffers?.Buffer.alloc(size));
}

export function intFor(place: UserCodeLocation, ...bounds: readonly unknown[]): number | undefined {
  const [min, max] = bounds.length === 1 ? [0, bounds[0]] : bounds;
  if (bounds.length > 2 || !Number.isSafeInteger(min) || !Number.isSafeInteger(max)) return undefined;
  const [from, below] = [min as number, max as number];
  return from < below ? from + Math.floor(place.random() * (below - from)) : undefined;
}
