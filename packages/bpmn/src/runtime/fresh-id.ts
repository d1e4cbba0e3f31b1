import { randomUUID } from "node:crypto";

/** An id that nobody else makes. */
export function freshId(): string {
  return randomUUID();
}
