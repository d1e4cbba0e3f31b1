import { randomUUID } from "node:crypto";

/** Returns a new unique id. */
export function freshId(): string {
  return randomUUID();
}

/** The time of the system clock; epoch ms. */
export function systemNow(): number {
  return Date.now();
}
