import type { InboxEntry, JournalRecord, Run, Transition } from "pawl";
import type { Applied } from "./applied.ts";
import { checkLaidBack } from "./monitor-acts.ts";
import { entryKey, isOver, type Shadow } from "./shadow.ts";
import type { Findings, Stage } from "./stage.ts";

type Append = Extract<Transition, { kind: "append" }>;

/** I4: what came into an inbox is received once, in order, or lies there. */
export class InboxMonitor {
  readonly #monitor: Findings;
  readonly #world: Stage;

  constructor(monitor: Findings, world: Stage) {
    this.#monitor = monitor;
    this.#world = world;
  }

  async check(
    { batch, commit }: Extract<Applied, { kind: "commit" }>,
    before: ReadonlyMap<string, Run>,
  ): Promise<void> {
    const taken = new Map<string, Set<number>>();
    for (const [index, transition] of batch.entries()) {
      const answer = commit.answers[index];
      if (transition.kind === "post" && transition.post.kind === "message" && answer?.kind === "applied") {
        const accepted = answer.post?.kind === "queued" || answer.post?.kind === "delivered";
        if (accepted) this.#monitor.shadows.get(transition.post.to)?.posted.add(transition.post.id);
      }
      if (transition.kind === "control" && transition.journal !== null && answer?.kind === "applied" && !answer.again) {
        const shadow = this.#monitor.shadows.get(transition.runId);
        if (shadow !== undefined)
          checkLaidBack(
            this.#monitor,
            shadow,
            transition.journal.restore,
            await this.#world.store.reader.inbox(shadow.id),
          );
      }
      if (transition.kind !== "append" || answer?.kind !== "applied" || answer.again) continue;
      this.#receive(transition, taken);
    }
    for (const shadow of this.#monitor.shadows.values()) {
      const old = before.get(shadow.id);
      const touched =
        old?.inboxLast !== shadow.row.inboxLast || old.endedAt !== shadow.row.endedAt || taken.has(shadow.id);
      if (touched) await this.#compare(shadow, taken.get(shadow.id) ?? new Set());
    }
  }

  /** Each entry that is taken is what one of the records tells of, and nobody had it before. */
  #receive(append: Append, takenOf: Map<string, Set<number>>): void {
    const shadow = this.#monitor.shadows.get(append.runId);
    if (shadow === undefined) return;
    this.#notInTime(shadow, append);
    const told = append.records.flatMap(receivedIds);
    let count = 0;
    for (const n of append.taken) {
      const entry = shadow.inbox.get(n);
      if (entry === undefined || shadow.received.has(n)) {
        this.#monitor.violate(
          "I4",
          `run ${append.runId} received entry ${n}, which is ${entry === undefined ? "not there" : "received already"}`,
        );
        continue;
      }
      shadow.received.add(n);
      if (entry.kind === "cancel") continue;
      count += 1;
      if (!told.includes(idOf(entry)))
        this.#monitor.violate("I4", `run ${append.runId} took ${entryKey(entry)}, and no record tells of it`);
      this.#inOrder(shadow, entry);
    }
    if (told.length !== count)
      this.#monitor.violate("I4", `run ${append.runId}: records tell of ${told.length} entries, ${count} were taken`);
    if (append.taken.length > 0)
      takenOf.set(append.runId, new Set([...(takenOf.get(append.runId) ?? []), ...append.taken]));
  }

  /** An event for one is in one inbox, or was received from one. */
  #onlyOne(shadow: Shadow, key: string): void {
    if (this.#monitor.events.kept.get(key.replace("event:event:", ""))?.consume !== "one") return;
    for (const other of this.#monitor.shadows.values()) {
      const n = other === shadow ? undefined : other.known.get(key);
      const has = n !== undefined && (other.received.has(n) || (other.inbox.has(n) && !isOver(other.row)));
      if (has) this.#monitor.violate("I4", `${key} came to run ${shadow.id}, and run ${other.id} has it`);
    }
  }

  /** What lies there when the time is up is received; only what came later is left. */
  #notInTime(shadow: Shadow, append: Append): void {
    for (const record of append.records) {
      const names =
        record.outcome === "timedOut" || record.detail === "w" ? this.#world.awaited(shadow.row, record.location) : [];
      for (const entry of shadow.inbox.values()) {
        const there = names.includes(`${entry.kind}:${entry.name}`) && !append.taken.includes(entry.n);
        if (there)
          this.#monitor.violate(
            "I4",
            `run ${shadow.id}: the time of ${record.location} was up although ${entryKey(entry)} lay there`,
          );
      }
    }
  }

  #inOrder(shadow: Shadow, entry: InboxEntry): void {
    const key = `${entry.kind}:${entry.name}`;
    const last = shadow.lastReceived.get(key) ?? 0;
    if (entry.n < last)
      this.#monitor.violate("FIFO", `run ${shadow.id} received ${entryKey(entry)} (${entry.n}) after number ${last}`);
    shadow.lastReceived.set(key, entry.n);
  }

  async #compare(shadow: Shadow, taken: ReadonlySet<number>): Promise<void> {
    const stored = await this.#world.store.reader.inbox(shadow.id);
    const now = new Map(stored.map((entry) => [entry.n, entry]));
    for (const entry of stored) {
      if (shadow.inbox.has(entry.n)) continue;
      const key = entryKey(entry);
      if (shadow.known.has(key) && !isLeftBehind(shadow, entry))
        this.#monitor.violate("I4", `run ${shadow.id} was given ${key} twice`);
      shadow.known.set(key, entry.n);
      if (entry.kind === "event") this.#onlyOne(shadow, key);
    }
    for (const [n, entry] of shadow.inbox) {
      if (taken.has(n) && now.has(n))
        this.#monitor.violate("I4", `run ${shadow.id} received ${entryKey(entry)}, and it still lies there`);
      const lost = !now.has(n) && !taken.has(n) && !isOver(shadow.row);
      if (lost) this.#monitor.violate("I4", `run ${shadow.id}: ${entryKey(entry)} is gone and was not received`);
    }
    for (const id of isOver(shadow.row) ? [] : shadow.posted) {
      if (!shadow.known.has(`message:${id}`))
        this.#monitor.violate("I4", `run ${shadow.id}: message ${id} was accepted and is not there`);
    }
    if (isOver(shadow.row) && now.size > 0)
      this.#monitor.violate("I6", `run ${shadow.id} is ${shadow.row.status} and something lies in its inbox`);
    shadow.inbox = now;
  }
}

/** Whether it is an event that the run had when it ended, and never received: it comes again to a run that was reopened. */
function isLeftBehind(shadow: Shadow, entry: InboxEntry): boolean {
  const before = shadow.known.get(entryKey(entry));
  return entry.kind === "event" && before !== undefined && !shadow.received.has(before) && !shadow.inbox.has(before);
}

/** What a record says was received: ids of messages and events, locations of children. */
function receivedIds(record: JournalRecord): readonly string[] {
  switch (record.kind) {
    case "listen":
    case "event":
      return record.outcome === "timedOut" ? [] : idsIn(record.payload);
    case "select":
      if (record.detail === "m" || record.detail === "t") return idsIn(record.payload);
      return record.detail === "c" ? [`${record.location}.c`] : [];
    case "rollback":
      // What a child did is undone by a run that is waited for; a handler is a body, which is tried.
      return record.attempts === 0 ? [record.location] : [];
    case "child":
      return [record.location.replace(/\/result$/, "")];
    default:
      return [];
  }
}

function idsIn(payload: string | null): readonly string[] {
  const value = JSON.parse(payload ?? "[]") as { readonly id: string } | ReadonlyArray<{ readonly id: string }>;
  return Array.isArray(value)
    ? value.map((each: { readonly id: string }) => each.id)
    : [(value as { readonly id: string }).id];
}

function idOf(entry: InboxEntry): string {
  return entry.kind === "child" ? entry.name : entry.id;
}
