import type { DeliverableQuery, EventRow, EventTable, RunHead, TopicTable } from "../../rules/tables.ts";
import { pairKey, RowsMissing } from "./known-rows.ts";
import { notInCommit, type StagedRuns } from "./staged-runs.ts";

/** How many waiters and events of a topic are read first. If more are needed, the depth is multiplied by DEPTH_FACTOR. */
const DEPTH = 16;
const DEPTH_FACTOR = 16;

/** Events of this commit get provisional numbers above this one, in order. The database assigns the final ones. */
export const FRESH_NUMBER_MIN = 2 ** 52;

/** A topic during a commit. */
export interface StagedTopic {
  readonly rev: number;
  pending: number;
  /** Ids of runs, the longest waiter first. */
  waiters: string[];
  /** Whether `waiters` is complete. */
  readonly hasAllWaiters: boolean;
  /** Pending ones, in the order of their numbers. */
  readonly events: EventRow[];
  /** The number up to which `events` is complete, per kind. */
  readonly bound: { readonly one: number; readonly all: number };
  readonly depth: number;
  touched: boolean;
}

export type EventChange =
  | { readonly what: "insert" | "replace" | "save"; readonly event: EventRow }
  | { readonly what: "remove" };

/** Topics, their waiters and their events during a commit. */
export class StagedTopics {
  readonly changes = new Map<string, EventChange>();
  readonly #runs: StagedRuns;
  readonly #topics = new Map<string, StagedTopic>();
  #fresh = 0;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  all(): IterableIterator<readonly [string, StagedTopic]> {
    return this.#topics.entries();
  }

  /** The provisional number of the next event. */
  nextFresh(): number {
    this.#fresh += 1;
    return FRESH_NUMBER_MIN + this.#fresh;
  }

  of(topic: string): StagedTopic {
    const staged = this.#topics.get(topic);
    if (staged !== undefined) return staged;
    const known = this.#runs.rows.topics.get(topic);
    if (known === undefined) return this.#want(topic, DEPTH);
    const { rev, pending, events, depth } = known;
    const made: StagedTopic = {
      rev,
      pending,
      waiters: known.waiters.filter((id) => this.#runs.peek(id)?.topics?.has(topic) ?? true),
      hasAllWaiters: known.waiters.length < depth,
      events: [],
      bound: { one: boundOf(events, "one", depth), all: boundOf(events, "all", depth) },
      depth,
      touched: false,
    };
    this.#topics.set(topic, made);
    for (const event of events) if (!this.changes.has(event.id)) made.events.push(event);
    return made;
  }

  touch(topic: string): StagedTopic {
    const staged = this.of(topic);
    staged.touched = true;
    return staged;
  }

  /** Requests more waiters and events of the topic. */
  readDeeper(topic: string): never {
    return this.#want(topic, (this.#topics.get(topic)?.depth ?? DEPTH) * DEPTH_FACTOR);
  }

  /** Makes the run wait on exactly these topics. */
  subscribe(head: RunHead, topics: ReadonlySet<string>): void {
    const run = this.#runs.touch(head);
    for (const topic of topics) this.of(topic);
    for (const [topic, { waiters }] of this.#topics) {
      const position = topics.has(topic) ? -1 : waiters.indexOf(head.id);
      if (position >= 0) waiters.splice(position, 1);
    }
    for (const topic of topics) {
      const { waiters } = this.touch(topic);
      if (!waiters.includes(head.id)) waiters.push(head.id);
    }
    run.topics = topics;
  }

  *waitersOf(topic: string): Generator<RunHead> {
    const { waiters, hasAllWaiters } = this.of(topic);
    for (const id of [...waiters]) {
      const head = this.#runs.find(id)?.head;
      if (head !== undefined) yield head;
    }
    if (!hasAllWaiters) this.readDeeper(topic);
  }

  event(id: string): EventRow | null {
    const change = this.changes.get(id);
    if (change !== undefined) return change.what === "remove" ? null : change.event;
    const known = this.#runs.rows.events.get(id);
    if (known !== undefined) return known;
    this.#runs.wanted.events.add(id);
    return null;
  }

  /** Updates the list of pending events. */
  setEvent(event: EventRow): void {
    const { events } = this.touch(event.topic);
    const place = placeOf(events, event.n);
    const isThere = events[place]?.n === event.n;
    events.splice(place, isThere ? 1 : 0, ...(event.pending ? [event] : []));
  }

  dropEvent(event: EventRow): void {
    this.setEvent({ ...event, pending: false });
  }

  seen(head: RunHead, topic: string): number {
    const run = this.#runs.of(head);
    const staged = run.seen?.get(topic);
    if (staged !== undefined) return staged;
    if (run.created !== null) return 0;
    const known = this.#runs.rows.seen.get(pairKey(head.id, topic));
    if (known !== undefined) return known;
    this.#runs.wanted.seen.set(pairKey(head.id, topic), { runId: head.id, topic });
    return 0;
  }

  #want(topic: string, depth: number): never {
    this.#runs.wanted.topics.set(topic, Math.max(depth, this.#runs.wanted.topics.get(topic) ?? 0));
    throw new RowsMissing();
  }
}

/** The index of the first event that has this number or a higher one. */
function placeOf(events: readonly EventRow[], n: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle] as EventRow).n < n) low = middle + 1;
    else high = middle;
  }
  return low;
}

function boundOf(events: readonly EventRow[], consume: EventRow["consume"], depth: number): number {
  const ofKind = events.filter((event) => event.consume === consume);
  return ofKind.length < depth ? Number.POSITIVE_INFINITY : (ofKind.at(-1)?.n ?? 0);
}

export class StagedTopicTable implements TopicTable {
  readonly #runs: StagedRuns;
  readonly #topics: StagedTopics;

  constructor(runs: StagedRuns, topics: StagedTopics) {
    this.#runs = runs;
    this.#topics = topics;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    this.#topics.subscribe(head, new Set(topics));
  }

  unsubscribe(head: RunHead): void {
    this.#topics.subscribe(head, new Set());
  }

  longestWaiter(topic: string): RunHead | null {
    for (const head of this.#topics.waitersOf(topic)) return head;
    return null;
  }

  waiters(topic: string): readonly RunHead[] {
    return [...this.#topics.waitersOf(topic)];
  }

  seen(head: RunHead, topic: string): number {
    return this.#topics.seen(head, topic);
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    const run = this.#runs.touch(head);
    run.seen ??= new Map();
    run.seen.set(topic, n);
  }

  forgetSeen(): never {
    return notInCommit("topics.forgetSeen");
  }
}

export class StagedEventTable implements EventTable {
  readonly #topics: StagedTopics;

  constructor(topics: StagedTopics) {
    this.#topics = topics;
  }

  get(id: string): EventRow | null {
    return this.#topics.event(id);
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    const row = { ...event, n: this.#topics.nextFresh() };
    this.#topics.setEvent(row);
    const what = this.#topics.changes.get(event.id)?.what === "remove" ? "replace" : "insert";
    this.#topics.changes.set(event.id, { what, event: row });
    return row;
  }

  save(event: EventRow): void {
    this.#topics.setEvent(event);
    const before = this.#topics.changes.get(event.id)?.what;
    this.#topics.changes.set(event.id, { what: before === "insert" || before === "replace" ? before : "save", event });
  }

  remove(event: EventRow): void {
    this.#topics.dropEvent(event);
    this.#topics.changes.set(event.id, { what: "remove" });
  }

  oldestDeliverable({ topic, consume, afterN, now, createdAt }: DeliverableQuery): EventRow | null {
    const { events, bound } = this.#topics.of(topic);
    const fits = (event: EventRow): boolean =>
      event.consume === consume &&
      event.n > afterN &&
      event.expireAt > now &&
      (event.deliver === "all" || event.at >= createdAt);
    const found = events.find(fits);
    if ((found?.n ?? Number.POSITIVE_INFINITY) <= bound[consume]) return found ?? null;
    return this.#topics.readDeeper(topic);
  }

  oldestPending(topic: string): EventRow | null {
    const { events, bound } = this.#topics.of(topic);
    const found = events[0];
    if ((found?.n ?? Number.POSITIVE_INFINITY) <= Math.min(bound.one, bound.all)) return found ?? null;
    return this.#topics.readDeeper(topic);
  }

  countPending(topic: string, change: 1 | -1): number {
    const staged = this.#topics.touch(topic);
    staged.pending += change;
    return staged.pending;
  }

  expired(): never {
    return notInCommit("events.expired");
  }
  removeBefore(): never {
    return notInCommit("events.removeBefore");
  }
}
