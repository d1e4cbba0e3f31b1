import { createHash } from "node:crypto";
import type { JournalRecord } from "pawl";

/** A digest of a record. The digest of a committed record never changes. */
export function digestOf({ kind, outcome, payload, attempts, at, detail }: JournalRecord): string {
  const text = JSON.stringify([kind, outcome, payload, attempts, at, detail]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
