import type { InboxEntry } from "../model/inbox.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";

interface Item {
  readonly value: unknown;
  readonly id: string;
  readonly sentAt: number;
  /** In records of selects, which do not say it else. */
  readonly kind?: InboxEntry["kind"];
  readonly name?: string;
}

/** The messages and events that a record received, as they lay in the inbox. What becomes of them at the run's end is not kept. */
export function returned(codec: Codec, record: JournalRecord): ReadonlyArray<Omit<InboxEntry, "n">> {
  if (record.outcome !== "ok") return [];
  if (record.kind !== "listen" && record.kind !== "event" && record.kind !== "select") return [];
  const value = codec.decode(record.payload);
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<Partial<Item> | null | undefined>;
  return items.flatMap((item) => {
    const name = record.kind === "select" ? item?.name : record.detail;
    const kind = record.kind === "select" ? item?.kind : record.kind === "event" ? "event" : "message";
    if (typeof item?.id !== "string" || typeof name !== "string") return [];
    if ((kind !== "message" && kind !== "event") || typeof item.sentAt !== "number") return [];
    const text = codec.encode(item.value, `what ${record.location} received`);
    return [{ kind, id: item.id, name, value: text, status: null, at: item.sentAt, onTargetTerminated: "discard" }];
  });
}
