import type { DeadLetter, InboxEntry } from "../model/inbox.ts";
import { nameSegment } from "../model/location.ts";
import type { EventPost, PostAnswer } from "../model/transition.ts";
import type { Batch } from "./batch.ts";
import { deliver } from "./deliver.ts";
import { numbered } from "./run-head.ts";
import type { EventRow, RunHead } from "./tables.ts";

const DUPLICATE: PostAnswer = { kind: "duplicate" };

/**
 * Applies an emit: it delivers to waiters, and keeps the event for runs that wait later. `deliverPending` is the other half. Both happen
 * in the commit that brings the emit or the wait.
 *
 * 1. An event with `consume: "one"` is pending, in one inbox, or ended; never two of these.
 * 2. An event with `consume: "all"` reaches a run at most once. A run receives the events of a topic in order; `topicSeen` is the last
 *    one. The event stays pending until it expires, unless `deliver` is `afterWait`.
 */
export function applyEvent(batch: Batch, post: EventPost): PostAnswer {
  const { tables } = batch;
  if (tables.events.get(post.id) !== null) return DUPLICATE;
  const { id, topic, value, at, expireAt, deliver, consume, pendingMax } = post;
  const kept = deliver !== "afterWait";
  const row = { id, topic, value, at, expireAt, deliver, consume, pendingMax, received: false, holder: null };
  if (consume === "one") {
    const waiter = tables.topics.longestWaiter(topic);
    if (waiter !== null) return { kind: "delivered", runs: giveOne(batch, waiter, row) };
  }
  const waiters = consume === "all" ? tables.topics.waiters(topic) : [];
  const event = tables.events.insert({
    ...row,
    value: kept ? value : null,
    pending: kept,
    received: waiters.length > 0,
  });
  for (const waiter of waiters) giveAll(batch, waiter, { ...event, value });
  if (kept) limitPending(batch, event);
  if (waiters.length > 0) return { kind: "delivered", runs: waiters.length };
  return kept ? { kind: "queued" } : { kind: "dropped" };
}

/** Delivers the oldest pending event of the topics. Returns the number of the newest inbox entry after that. */
export function deliverPending(batch: Batch, head: RunHead, topics: readonly string[]): number {
  const { tables } = batch;
  for (let event = findPending(batch, head, topics); event !== null; event = findPending(batch, head, topics)) {
    if (event.consume === "one") {
      tables.events.save({ ...event, value: null, pending: false, received: true, holder: head.id });
      tables.events.countPending(event.topic, -1);
    } else {
      tables.topics.setSeen(head, event.topic, event.n);
      if (!event.received) tables.events.save({ ...event, received: true });
    }
    const entry = numbered(head.inboxLast + 1, eventEntry(event));
    // If the run has had this event, the next one is tried. An event that the run returned unreceived is pending again.
    if (tables.inbox.add(head, entry) || (event.consume === "one" && tables.inbox.restore(head, entry))) return entry.n;
  }
  return head.inboxLast;
}

function findPending(batch: Batch, head: RunHead, topics: readonly string[]): EventRow | null {
  const { tables, now } = batch;
  let oldest: EventRow | null = null;
  for (const topic of topics) {
    const age = { topic, now, createdAt: head.createdAt };
    const one = tables.events.oldestDeliverable({ ...age, consume: "one", afterN: 0 });
    const all = tables.events.oldestDeliverable({ ...age, consume: "all", afterN: tables.topics.seen(head, topic) });
    for (const event of [one, all]) if (event !== null && (oldest === null || event.n < oldest.n)) oldest = event;
  }
  return oldest;
}

/** Returns an event that a run did not receive: to the next waiter, to the topic, or to the dead letters. */
export function returnEvent(batch: Batch, head: RunHead, entry: InboxEntry): void {
  const { tables, now } = batch;
  const event = tables.events.get(entry.id.slice(EVENT_PREFIX.length));
  if (event === null || event.consume === "all" || event.holder !== head.id) return;
  const returned = { ...event, value: entry.value, received: false, holder: null };
  const waiter = event.expireAt > now ? tables.topics.longestWaiter(event.topic) : null;
  if (waiter !== null) {
    deliver(batch, waiter, eventEntry(returned), true);
    tables.events.save({ ...event, holder: waiter.id });
  } else if (event.deliver === "afterWait") {
    bury(batch, returned, { reason: "targetTerminated", status: head.status });
  } else {
    tables.events.save({ ...returned, pending: true });
    limitPending(batch, returned);
  }
}

/** Removes a pending event from its topic. It becomes a dead letter if no run received it. */
export function endPending(batch: Batch, event: EventRow, reason: "overflow" | "expired"): void {
  batch.tables.events.countPending(event.topic, -1);
  if (event.received) batch.tables.events.save({ ...event, value: null, pending: false });
  else bury(batch, event, { reason, status: null });
}

const EVENT_PREFIX = "event:";

function eventEntry(event: Omit<EventRow, "n" | "pending">): Omit<InboxEntry, "n"> {
  const { id, topic, value, at } = event;
  const fixed = { status: null, onTargetTerminated: "discard" } as const;
  return { kind: "event", id: `${EVENT_PREFIX}${id}`, name: topic, value, at, ...fixed };
}

function giveOne(batch: Batch, waiter: RunHead, row: Omit<EventRow, "n" | "pending">): number {
  batch.tables.events.insert({ ...row, value: null, pending: false, received: true, holder: waiter.id });
  deliver(batch, waiter, eventEntry(row), true);
  return 1;
}

function giveAll(batch: Batch, waiter: RunHead, event: EventRow): void {
  deliver(batch, waiter, eventEntry(event));
  if (event.pending) batch.tables.topics.setSeen(waiter, event.topic, event.n);
}

function limitPending(batch: Batch, { topic, pendingMax }: Pick<EventRow, "topic" | "pendingMax">): void {
  const { tables } = batch;
  let count = tables.events.countPending(topic, 1);
  while (count > pendingMax) {
    const oldest = tables.events.oldestPending(topic);
    if (oldest === null) return;
    endPending(batch, oldest, "overflow");
    count -= 1;
  }
}

function bury(batch: Batch, event: EventRow, why: Pick<DeadLetter, "reason" | "status">): void {
  batch.tables.events.save({ ...event, value: null, pending: false, received: false, holder: null });
  batch.tables.letters.insert({
    id: nameSegment(event.id),
    kind: "event",
    target: event.topic,
    name: event.topic,
    value: event.value,
    ...why,
    sentAt: event.at,
    deadAt: batch.now,
    postId: event.id,
  });
}
