import type { InboxEntry, JournalRecord, Run, Transition } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type ExpectedRun, entryKey, hasEnded } from "./expected-run.ts";
import { checkRestored } from "./monitor-operator-actions.ts";
import type { ExpectedState, SimulationContext } from "./simulation-context.ts";

type Append = Extract<Transition, { kind: "append" }>;

/** I4: what came into an inbox is received once, in order, or lies there. */
export class InboxMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  async check(
    { batch, commit }: Extract<AppliedCall, { kind: "commit" }>,
    before: ReadonlyMap<string, Run>,
  ): Promise<void> {
    const taken = new Map<string, Set<number>>();
    for (const [index, transition] of batch.entries()) {
      const answer = commit.answers[index];
      if (transition.kind === "post" && transition.post.kind === "message" && answer?.kind === "applied") {
        const accepted = answer.post?.kind === "queued" || answer.post?.kind === "delivered";
        if (accepted) this.#monitor.expectedRuns.get(transition.post.to)?.posted.add(transition.post.id);
      }
      if (transition.kind === "control" && transition.journal !== null && answer?.kind === "applied" && !answer.again) {
        const expectedRun = this.#monitor.expectedRuns.get(transition.runId);
        if (expectedRun !== undefined)
          checkRestored(
            this.#monitor,
            expectedRun,
            transition.journal.restore,
            await this.#simulation.store.reader.inbox(expectedRun.id),
          );
      }
      if (transition.kind !== "append" || answer?.kind !== "applied" || answer.again) continue;
      this.#receive(transition, taken);
    }
    for (const expectedRun of this.#monitor.expectedRuns.values()) {
      const old = before.get(expectedRun.id);
      const touched =
        old?.inboxLast !== expectedRun.row.inboxLast ||
        old.endedAt !== expectedRun.row.endedAt ||
        taken.has(expectedRun.id);
      if (touched) await this.#compare(expectedRun, taken.get(expectedRun.id) ?? new Set());
    }
  }

  /** Each entry that is taken is what one of the records tells of, and nobody had it before. */
  #receive(append: Append, takenOf: Map<string, Set<number>>): void {
    const expectedRun = this.#monitor.expectedRuns.get(append.runId);
    if (expectedRun === undefined) return;
    this.#notInTime(expectedRun, append);
    const told = append.records.flatMap(receivedIds);
    let count = 0;
    for (const n of append.taken) {
      const entry = expectedRun.inbox.get(n);
      if (entry === undefined || expectedRun.received.has(n)) {
        this.#monitor.violate(
          "I4",
          `run ${append.runId} received entry ${n}, which is ${entry === undefined ? "not there" : "received already"}`,
        );
        continue;
      }
      expectedRun.received.add(n);
      if (entry.kind === "cancel") continue;
      count += 1;
      if (!told.includes(idOf(entry)))
        this.#monitor.violate("I4", `run ${append.runId} took ${entryKey(entry)}, and no record tells of it`);
      this.#inOrder(expectedRun, entry);
    }
    if (told.length !== count)
      this.#monitor.violate("I4", `run ${append.runId}: records tell of ${told.length} entries, ${count} were taken`);
    if (append.taken.length > 0)
      takenOf.set(append.runId, new Set([...(takenOf.get(append.runId) ?? []), ...append.taken]));
  }

  /** An event for one is in one inbox, or was received from one. */
  #onlyOne(expectedRun: ExpectedRun, key: string): void {
    if (this.#monitor.events.kept.get(key.replace("event:event:", ""))?.consume !== "one") return;
    for (const other of this.#monitor.expectedRuns.values()) {
      const n = other === expectedRun ? undefined : other.known.get(key);
      const has = n !== undefined && (other.received.has(n) || (other.inbox.has(n) && !hasEnded(other.row)));
      if (has) this.#monitor.violate("I4", `${key} came to run ${expectedRun.id}, and run ${other.id} has it`);
    }
  }

  /** What lies there when the time is up is received; only what came later is left. */
  #notInTime(expectedRun: ExpectedRun, append: Append): void {
    for (const record of append.records) {
      const names =
        record.outcome === "timedOut" || record.detail === "w"
          ? this.#simulation.awaited(expectedRun.row, record.location)
          : [];
      for (const entry of expectedRun.inbox.values()) {
        const there = names.includes(`${entry.kind}:${entry.name}`) && !append.taken.includes(entry.n);
        if (there)
          this.#monitor.violate(
            "I4",
            `run ${expectedRun.id}: the time of ${record.location} was up although ${entryKey(entry)} lay there`,
          );
      }
    }
  }

  #inOrder(expectedRun: ExpectedRun, entry: InboxEntry): void {
    const key = `${entry.kind}:${entry.name}`;
    const last = expectedRun.lastReceived.get(key) ?? 0;
    if (entry.n < last)
      this.#monitor.violate(
        "FIFO",
        `run ${expectedRun.id} received ${entryKey(entry)} (${entry.n}) after number ${last}`,
      );
    expectedRun.lastReceived.set(key, entry.n);
  }

  async #compare(expectedRun: ExpectedRun, taken: ReadonlySet<number>): Promise<void> {
    const stored = await this.#simulation.store.reader.inbox(expectedRun.id);
    const now = new Map(stored.map((entry) => [entry.n, entry]));
    for (const entry of stored) {
      if (expectedRun.inbox.has(entry.n)) continue;
      const key = entryKey(entry);
      if (expectedRun.known.has(key) && !isLeftBehind(expectedRun, entry))
        this.#monitor.violate("I4", `run ${expectedRun.id} was given ${key} twice`);
      expectedRun.known.set(key, entry.n);
      if (entry.kind === "event") this.#onlyOne(expectedRun, key);
    }
    for (const [n, entry] of expectedRun.inbox) {
      if (taken.has(n) && now.has(n))
        this.#monitor.violate("I4", `run ${expectedRun.id} received ${entryKey(entry)}, and it still lies there`);
      const lost = !now.has(n) && !taken.has(n) && !hasEnded(expectedRun.row);
      if (lost) this.#monitor.violate("I4", `run ${expectedRun.id}: ${entryKey(entry)} is gone and was not received`);
    }
    for (const id of hasEnded(expectedRun.row) ? [] : expectedRun.posted) {
      if (!expectedRun.known.has(`message:${id}`))
        this.#monitor.violate("I4", `run ${expectedRun.id}: message ${id} was accepted and is not there`);
    }
    if (hasEnded(expectedRun.row) && now.size > 0)
      this.#monitor.violate("I6", `run ${expectedRun.id} is ${expectedRun.row.status} and something lies in its inbox`);
    expectedRun.inbox = now;
  }
}

/** Whether it is an event that the run had when it ended, and never received: it comes again to a run that was reopened. */
function isLeftBehind(expectedRun: ExpectedRun, entry: InboxEntry): boolean {
  const before = expectedRun.known.get(entryKey(entry));
  return (
    entry.kind === "event" &&
    before !== undefined &&
    !expectedRun.received.has(before) &&
    !expectedRun.inbox.has(before)
  );
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
