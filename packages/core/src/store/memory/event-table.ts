import type { DeliverableQuery, EventRow, EventTable } from "../tables.ts";
import type { Cells } from "./cell.ts";

/** Events by id, and those that are pending by topic, in order. */
export class MemoryEventTable implements EventTable {
  #last: number;
  readonly #cells: Cells;
  readonly #byId = new Map<string, EventRow>();
  readonly #pending = new Map<string, EventRow[]>();

  constructor(cells: Cells, last = 0) {
    this.#cells = cells;
    this.#last = last;
  }

  get(id: string): EventRow | null {
    return this.#byId.get(id) ?? null;
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    this.#last += 1;
    const row = { ...event, n: this.#last };
    this.save(row);
    return row;
  }

  save(event: EventRow): void {
    this.#dropPending(event.id);
    this.#byId.set(event.id, event);
    if (!event.pending) return;
    const pending = this.#pending.get(event.topic) ?? [];
    this.#pending.set(event.topic, pending);
    const place = pending.findLastIndex((other) => other.n < event.n) + 1;
    pending.splice(place, 0, event);
  }

  remove(event: EventRow): void {
    this.#dropPending(event.id);
    this.#byId.delete(event.id);
  }

  all(): Iterable<EventRow> {
    return this.#byId.values();
  }

  oldestDeliverable({ topic, consume, afterN, now, createdAt }: DeliverableQuery): EventRow | null {
    const fits = (event: EventRow): boolean =>
      event.consume === consume &&
      event.n > afterN &&
      event.expireAt > now &&
      (event.deliver === "all" || event.at >= createdAt);
    return this.#pending.get(topic)?.find(fits) ?? null;
  }

  oldestPending(topic: string): EventRow | null {
    return this.#pending.get(topic)?.[0] ?? null;
  }

  /** The list of a topic's pending events knows its own length. */
  countPending(topic: string): number {
    return this.#pending.get(topic)?.length ?? 0;
  }

  expired(now: number, limit: number): readonly EventRow[] {
    const expired = [...this.#pending.values()].flat().filter((event) => event.expireAt <= now);
    return expired.sort((left, right) => left.expireAt - right.expireAt || left.n - right.n).slice(0, limit);
  }

  removeBefore(before: number, limit: number): number {
    let removed = 0;
    for (const event of this.#byId.values()) {
      if (removed === limit) break;
      if (event.pending || event.at >= before || this.#isHeld(event)) continue;
      this.#byId.delete(event.id);
      removed += 1;
    }
    return removed;
  }

  #isHeld({ holder, id }: EventRow): boolean {
    const cell = holder === null ? undefined : this.#cells.get(holder);
    const known = cell?.known.get(`event:event:${id}`);
    return known !== undefined && (cell?.inbox.has(known.n) ?? false);
  }

  #dropPending(id: string): void {
    const event = this.#byId.get(id);
    if (event === undefined || !event.pending) return;
    const pending = this.#pending.get(event.topic) ?? [];
    const place = pending.findIndex((other) => other.n === event.n);
    if (place >= 0) pending.splice(place, 1);
    if (pending.length === 0) this.#pending.delete(event.topic);
  }
}
