import { childEndId, type InboxEntry } from "../model/inbox.ts";
import { type OpenWait, WAIT_OPEN_MAX, type Wait, type WaitArm } from "../model/run.ts";
import { assert } from "../runtime/assert.ts";
import { FifoQueue } from "../runtime/fifo-queue.ts";
import type { Arm, WaitCommand } from "../workflow/command.ts";
import type { LastProgress } from "./limits.ts";

/** A wait and the inbox entries that end it. */
export interface Match {
  readonly wait: WaitCommand;
  readonly entries: readonly InboxEntry[];
}

/**
 * Open waits, also by what they wait for, in the order of issue. The first wait of a queue is open. A later one may have ended: it is
 * dropped when it becomes the first, or when the queue is swept.
 */
interface Several {
  readonly open: Set<WaitCommand>;
  readonly queues: Map<string, FifoQueue<WaitCommand>>;
}

const NONE: readonly WaitCommand[] = [];
/** A queue with fewer waits is not swept. */
const SWEEP_MIN = 64;

/**
 * The open waits of one run and its unreceived inbox entries.
 *
 * 1. Entries of one name go, oldest first, to the waits for that name in the order of issue.
 * 2. The cost of a match depends only on the number of entries that the wait receives: not on the other entries of the inbox, and
 *    not on the number of open waits.
 *
 * Most runs have one wait at a time, which needs no maps.
 */
export class OpenWaits {
  #only: WaitCommand | null = null;
  /** All waits, from the second concurrent one until none is left. */
  #several: Several | null = null;
  /** Unreceived entries by key, oldest first. */
  #entries: Map<string, FifoQueue<InboxEntry>> | null = null;
  /** Keys whose waits or entries have changed. Null if none. */
  #touched: Set<string> | null = null;
  #changes = 0;

  get size(): number {
    return this.#several?.open.size ?? (this.#only === null ? 0 : 1);
  }

  /** Increases when a wait is opened or ended. */
  get changes(): number {
    return this.#changes;
  }

  has(wait: WaitCommand): boolean {
    return this.#several?.open.has(wait) ?? this.#only === wait;
  }

  add(wait: WaitCommand): void {
    this.#changes += 1;
    if (this.#several === null && this.#only === null) {
      this.#only = wait;
    } else {
      this.#several ??= severalOf(this.#only);
      this.#only = null;
      enqueue(this.#several, wait);
    }
    for (const arm of wait.arms) this.#touch(armKey(arm));
  }

  remove(wait: WaitCommand): void {
    if (!this.has(wait)) return;
    this.#changes += 1;
    if (this.#several === null) this.#only = null;
    else dequeue(this.#several, wait);
    if (this.#several?.open.size === 0) this.#several = null;
    for (const arm of wait.arms) this.#touch(armKey(arm));
  }

  /** Ends a wait that received the entries. */
  end(wait: WaitCommand, entries: readonly InboxEntry[]): void {
    this.remove(wait);
    for (const entry of entries) this.#drop(entry);
  }

  /** Adds new entries, in order of arrival. */
  arrive(entries: readonly InboxEntry[]): void {
    for (const entry of entries) {
      const key = entryKey(entry);
      this.#entries ??= new Map();
      pushTo(this.#entries, key, entry);
      this.#touch(key);
    }
  }

  /** Takes a wait that inbox entries can end, with the entries. Null if there is none. */
  takeMatch(): Match | null {
    if (this.#touched === null) return null;
    for (const key of this.#touched) {
      const wait = this.#first(key);
      const entries = wait === null ? null : this.entriesFor(wait, wait.count);
      if (wait !== null && entries !== null) {
        this.end(wait, entries);
        return { wait, entries };
      }
      this.#touched.delete(key);
    }
    this.#touched = null;
    return null;
  }

  /** Returns the row's wait without the waits that are about to end. Null if none is left. */
  waitRow(until: number | null, { since, seq }: LastProgress, without: ReadonlySet<WaitCommand>): Wait | null {
    if (this.size === without.size) return null;
    const waits = [...this.#all()].filter((wait) => !without.has(wait));
    const messages = new Set<string>();
    const topics = new Set<string>();
    let children = false;
    for (const { arms } of waits) {
      for (const arm of arms) {
        if (arm.kind === "message") messages.add(arm.name);
        else if (arm.kind === "event") topics.add(arm.topic);
        else children = true;
      }
    }
    const open = waits.slice(0, WAIT_OPEN_MAX).map(openWait);
    const openCount = waits.length;
    return { messages: [...messages], topics: [...topics], children, until, since, seq, open, openCount };
  }

  /**
   * Returns the oldest entries, at most its count, for the arms at which the wait is first. Null if there are fewer than
   * `countMin`.
   */
  entriesFor(wait: WaitCommand, countMin: number): readonly InboxEntry[] | null {
    const queues: FifoQueue<InboxEntry>[] = [];
    let count = 0;
    for (const arm of wait.arms) {
      const key = armKey(arm);
      const queue = this.#first(key) === wait ? this.#entries?.get(key) : undefined;
      if (queue === undefined) continue;
      queues.push(queue);
      count += queue.size;
    }
    // Nothing is copied for a wait that needs more entries than there are.
    if (count < countMin) return null;
    const found = queues.flatMap((queue) => queue.oldest(wait.count));
    return found.sort((a, b) => a.n - b.n).slice(0, wait.count);
  }

  #all(): Iterable<WaitCommand> {
    return this.#several?.open ?? (this.#only === null ? NONE : [this.#only]);
  }

  #first(key: string): WaitCommand | null {
    if (this.#several !== null) return this.#several.queues.get(key)?.first ?? null;
    return this.#only?.arms.some((arm) => armKey(arm) === key) ? this.#only : null;
  }

  #touch(key: string): void {
    this.#touched ??= new Set();
    this.#touched.add(key);
  }

  /** Drops a received entry, which is the oldest with its key. */
  #drop(entry: InboxEntry): void {
    const key = entryKey(entry);
    const queue = this.#entries?.get(key);
    const oldest = queue?.take();
    assert(oldest === entry, `entry ${entry.n} is received before the older entries of its name`);
    if (queue?.size === 0) this.#entries?.delete(key);
    if (this.#entries?.size === 0) this.#entries = null;
  }
}

function severalOf(wait: WaitCommand | null): Several {
  const several: Several = { open: new Set(), queues: new Map() };
  if (wait !== null) enqueue(several, wait);
  return several;
}

function enqueue({ open, queues }: Several, wait: WaitCommand): void {
  open.add(wait);
  for (const arm of wait.arms) {
    const key = armKey(arm);
    const queue = queues.get(key);
    // At least half of a swept queue had ended, so sweeps cost no more than the waits that they drop.
    if (queue !== undefined && queue.size > Math.max(SWEEP_MIN, 2 * open.size)) queues.set(key, swept(queue, open));
    pushTo(queues, key, wait);
  }
}

function dequeue({ open, queues }: Several, wait: WaitCommand): void {
  open.delete(wait);
  for (const arm of wait.arms) {
    const key = armKey(arm);
    const queue = queues.get(key);
    if (queue === undefined) continue;
    while (queue.first !== undefined && !open.has(queue.first)) queue.take();
    if (queue.size === 0) queues.delete(key);
  }
}

function swept(queue: FifoQueue<WaitCommand>, open: ReadonlySet<WaitCommand>): FifoQueue<WaitCommand> {
  const kept = new FifoQueue<WaitCommand>();
  for (const wait of queue.oldest(queue.size)) if (open.has(wait)) kept.push(wait);
  return kept;
}

function pushTo<Item>(queues: Map<string, FifoQueue<Item>>, key: string, item: Item): void {
  let queue = queues.get(key);
  if (queue === undefined) {
    queue = new FifoQueue();
    queues.set(key, queue);
  }
  queue.push(item);
}

function openWait({ location, record, issuedAt, until, arms }: WaitCommand): OpenWait {
  return { location, kind: record, since: issuedAt, until, arms: arms.map(waitArm) };
}

function waitArm(arm: Arm): WaitArm {
  switch (arm.kind) {
    case "message":
      return { kind: "message", name: arm.name };
    case "event":
      return { kind: "event", name: arm.topic };
    case "child":
      return { kind: "child", name: arm.location };
  }
}

function armKey(arm: Arm): string {
  switch (arm.kind) {
    case "message":
      return `message:${arm.name}`;
    case "event":
      return `event:${arm.topic}`;
    case "child":
      return childEndId(arm.location, arm.child);
  }
}

/** A child's end has the id of that child: another child may have been started at the same location. */
function entryKey({ kind, name, id }: InboxEntry): string {
  return kind === "child" ? id : `${kind}:${name}`;
}
