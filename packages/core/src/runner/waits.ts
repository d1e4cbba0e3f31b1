import { childEndId, type InboxEntry } from "../model/inbox.ts";
import { type OpenWait, WAIT_OPEN_MAX, type Wait, type WaitArm } from "../model/run.ts";
import type { Arm, WaitCommand } from "../workflow/command.ts";
import type { Stand } from "./standstill.ts";

/** A wait and the inbox entries that end it. */
export interface Match {
  readonly wait: WaitCommand;
  readonly entries: readonly InboxEntry[];
}

/**
 * The open waits of one run and what lies in its inbox.
 *
 * W1. Entries of one name go, oldest first, to the waits for that name in the order in which they were issued.
 * W2. Looking for a match costs the same whatever the number of open waits and of entries of other names.
 */
export class Waits {
  /** Open waits by what they wait for, first issued first. */
  readonly #queues = new Map<string, WaitCommand[]>();
  /** Entries that nobody has received, by the same keys, oldest first. */
  #entries: Map<string, InboxEntry[]> | null = null;
  readonly #open = new Set<WaitCommand>();
  /** Keys at which something has changed; null: none. */
  #touched: Set<string> | null = null;
  #changes = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Grows when a wait is opened or ended. */
  get changes(): number {
    return this.#changes;
  }

  has(wait: WaitCommand): boolean {
    return this.#open.has(wait);
  }

  add(wait: WaitCommand): void {
    this.#open.add(wait);
    this.#changes += 1;
    for (const arm of wait.arms) {
      const key = armKey(arm);
      const queue = this.#queues.get(key);
      if (queue === undefined) this.#queues.set(key, [wait]);
      else queue.push(wait);
      this.#touch(key);
    }
  }

  remove(wait: WaitCommand): void {
    if (!this.#open.delete(wait)) return;
    this.#changes += 1;
    for (const arm of wait.arms) {
      const key = armKey(arm);
      const queue = (this.#queues.get(key) ?? []).filter((other) => other !== wait);
      if (queue.length === 0) this.#queues.delete(key);
      else this.#queues.set(key, queue);
      this.#touch(key);
    }
  }

  /** Ends a wait; the entries are received. */
  end(wait: WaitCommand, entries: readonly InboxEntry[]): void {
    this.remove(wait);
    for (const entry of entries) this.#drop(entry);
  }

  /** New entries, in order of arrival. */
  arrive(entries: readonly InboxEntry[]): void {
    for (const entry of entries) {
      const key = entryKey(entry);
      this.#entries ??= new Map();
      const list = this.#entries.get(key);
      if (list === undefined) this.#entries.set(key, [entry]);
      else list.push(entry);
      this.#touch(key);
    }
  }

  /** Takes a wait that the inbox can end, with its entries; null if there is none. */
  takeMatch(): Match | null {
    for (const key of this.#touched ?? []) {
      const wait = this.#queues.get(key)?.[0];
      const entries = wait === undefined ? null : this.entriesFor(wait, wait.count);
      if (wait !== undefined && entries !== null) {
        this.end(wait, entries);
        return { wait, entries };
      }
      this.#touched?.delete(key);
    }
    this.#touched = null;
    return null;
  }

  /** What the store has to know to wake the run, leaving out waits that are about to end; null if none is left. */
  toWait(until: number | null, { since, seq }: Stand, without: ReadonlySet<WaitCommand>): Wait | null {
    if (this.#open.size === without.size) return null;
    const messages = new Set<string>();
    const topics = new Set<string>();
    const open: OpenWait[] = [];
    let children = false;
    for (const wait of this.#open) {
      if (without.has(wait)) continue;
      if (open.length < WAIT_OPEN_MAX) open.push(openWait(wait));
      for (const arm of wait.arms) {
        if (arm.kind === "message") messages.add(arm.name);
        else if (arm.kind === "event") topics.add(arm.topic);
        else children = true;
      }
    }
    return {
      messages: [...messages],
      topics: [...topics],
      children,
      until,
      since,
      seq,
      open,
      openCount: this.#open.size - without.size,
    };
  }

  /** The oldest entries, up to its count, for the arms at which the wait is the first; null if there are fewer than `least`. */
  entriesFor(wait: WaitCommand, least: number): readonly InboxEntry[] | null {
    const found: InboxEntry[] = [];
    for (const arm of wait.arms) {
      const key = armKey(arm);
      if (this.#queues.get(key)?.[0] === wait) found.push(...(this.#entries?.get(key)?.slice(0, wait.count) ?? []));
    }
    if (found.length < least) return null;
    return found.sort((a, b) => a.n - b.n).slice(0, wait.count);
  }

  #touch(key: string): void {
    this.#touched ??= new Set();
    this.#touched.add(key);
  }

  #drop(entry: InboxEntry): void {
    const key = entryKey(entry);
    const rest = (this.#entries?.get(key) ?? []).filter((other) => other !== entry);
    if (rest.length === 0) this.#entries?.delete(key);
    else this.#entries?.set(key, rest);
  }
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

/** A child that was started again at its location is another: whose end it is, the entry's id says. */
function entryKey({ kind, name, id }: InboxEntry): string {
  return kind === "child" ? id : `${kind}:${name}`;
}
