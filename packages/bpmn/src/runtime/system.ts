import { randomUUID } from "node:crypto";

/** A unique id. */
export function freshId(): string {
  return randomUUID();
}

/** The system time, in epoch milliseconds. */
export function systemNow(): number {
  return Date.now();
}
