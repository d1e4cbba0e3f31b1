import { randomUUID } from "node:crypto";

/** An id that nobody else makes. */
export function freshId(): string {
  return randomUUID();
}

/** The machine's time; epoch ms. */
export function systemNow(): number {
  return Date.now();
}
