import type { InboxEntry } from "../model/inbox.ts";

/** An entry with its place in the inbox. */
export function numbered(n: number, entry: Omit<InboxEntry, "n">): InboxEntry {
  const { kind, id, name, value, status, at, onTargetTerminated } = entry;
  return { n, kind, id, name, value, status, at, onTargetTerminated };
}
