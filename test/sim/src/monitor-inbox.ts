import type { InboxEntry, JournalRecord, Run, Transition } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type ExpectedRun, entryKey, hasEnded } from "./expected-run.ts";
import { checkRestored } from "./monitor-operator-actions.ts";
import type { ExpectedState, SimulationContext } from "./simulation-context.ts";

type Append = Extract<Transition, { kind: "append" }>;

/** I4: an inbox entry is received once and in order, or is pending. */
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
        const target = this.#monitor.expectedRuns.get(transition.post.to);
        if (accepted) target?.posted.add(transition.post.id);
        if (answer.post?.kind === "delivered" && target !== undefined) this.#deliver(target, transition.post.id);
      }
      if (transition.kind === "control" && answer?.kind === "applied" && !answer.again) {
        this.#monitor.expectedRuns.get(transition.runId)?.delivered.clear();
        // A resume withdraws requests to pause.
        taken.set(transition.runId, taken.get(transition.runId) ?? new Set());
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

  /** I12: a sender gets `delivered` only for the message that completes the wait; one more would have no wait to complete. */
  #deliver(expectedRun: ExpectedRun, id: string): void {
    // The rule compares the store's clock with the time at which the run became due.
    if (this.#simulation.case.faultRates.clockJump > 0) return;
    const [before] = expectedRun.delivered;
    if (before !== undefined)
      this.#monitor.violate(
        "I12",
        `run ${expectedRun.id}: message ${id} was answered with delivered, and so was ${before}, not received yet`,
      );
    expectedRun.delivered.add(id);
  }

  /** The owner has received the messages, or has left the wait after it had seen them. */
  #settleDelivered(expectedRun: ExpectedRun, { state }: Append): void {
    if (state === null || state.status === "released") return;
    const waits = state.status === "suspended" || state.status === "running";
    for (const id of expectedRun.delivered) {
      const n = expectedRun.known.get(`message:${id}`) ?? Number.POSITIVE_INFINITY;
      if (!waits || state.inboxSeen >= n) expectedRun.delivered.delete(id);
    }
  }

  /** Each received entry belongs to one of the records, and was not received before. */
  #receive(append: Append, takenOf: Map<string, Set<number>>): void {
    const expectedRun = this.#monitor.expectedRuns.get(append.runId);
    if (expectedRun === undefined) return;
    this.#notInTime(expectedRun, append);
    const recorded = append.records.flatMap(receivedIds);
    this.#settleDelivered(expectedRun, append);
    let count = 0;
    for (const n of append.taken) {
      const entry = expectedRun.inbox.get(n);
      if (entry === undefined || expectedRun.received.has(n)) {
        this.#monitor.violate(
          "I4",
          `run ${append.runId} received entry ${n}, which ${entry === undefined ? "does not exist" : "was received before"}`,
        );
        continue;
      }
      expectedRun.received.add(n);
      if (entry.kind === "cancel") continue;
      count += 1;
      if (!recorded.includes(idOf(entry)))
        this.#monitor.violate("I4", `run ${append.runId} received ${entryKey(entry)} without a record`);
      this.#inOrder(expectedRun, entry);
    }
    if (recorded.length !== count)
      this.#monitor.violate(
        "I4",
        `run ${append.runId}: records contain ${recorded.length} entries, ${count} were received`,
      );
    if (append.taken.length > 0)
      takenOf.set(append.runId, new Set([...(takenOf.get(append.runId) ?? []), ...append.taken]));
  }

  /** An event for one run is in one inbox, or was received from one. */
  #onlyOne(expectedRun: ExpectedRun, key: string): void {
    if (this.#monitor.events.kept.get(key.replace("event:event:", ""))?.consume !== "one") return;
    for (const other of this.#monitor.expectedRuns.values()) {
      const n = other === expectedRun ? undefined : other.known.get(key);
      const has = n !== undefined && (other.received.has(n) || (other.inbox.has(n) && !hasEnded(other.row)));
      if (has) this.#monitor.violate("I4", `${key} was delivered to run ${expectedRun.id} and to run ${other.id}`);
    }
  }

  /** At a timeout no entry may be pending that arrived before the deadline. */
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
            `run ${expectedRun.id}: ${record.location} timed out although ${entryKey(entry)} was pending`,
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

  /** A child that was reopened ends again, and a parent that was reopened closes its children again. */
  #endsAgain({ kind, id }: InboxEntry): boolean {
    if (kind === "cancel" && id.startsWith("close:")) return this.#wasReopened(id.slice("close:".length));
    return kind === "child" && this.#wasReopened(id.slice(id.lastIndexOf(":") + 1));
  }

  #wasReopened(runId: string): boolean {
    const run = this.#monitor.expectedRuns.get(runId);
    return run === undefined || run.reopened > 0;
  }

  async #compare(expectedRun: ExpectedRun, taken: ReadonlySet<number>): Promise<void> {
    const stored = await this.#simulation.store.reader.inbox(expectedRun.id);
    const now = new Map(stored.map((entry) => [entry.n, entry]));
    for (const entry of stored) {
      if (expectedRun.inbox.has(entry.n)) continue;
      const key = entryKey(entry);
      if (expectedRun.known.has(key) && !isLeftBehind(expectedRun, entry) && !this.#endsAgain(entry))
        this.#monitor.violate("I4", `run ${expectedRun.id} got ${key} twice`);
      expectedRun.known.set(key, entry.n);
      if (entry.kind === "event") this.#onlyOne(expectedRun, key);
    }
    for (const [n, entry] of expectedRun.inbox) {
      if (taken.has(n) && now.has(n))
        this.#monitor.violate("I4", `run ${expectedRun.id} received ${entryKey(entry)}, but it is still in the inbox`);
      // A resume withdraws requests to pause.
      const isPause = entry.kind === "cancel" && entry.id.startsWith("pause:");
      const lost = !now.has(n) && !taken.has(n) && !hasEnded(expectedRun.row) && !isPause;
      if (lost)
        this.#monitor.violate("I4", `run ${expectedRun.id}: ${entryKey(entry)} disappeared without being received`);
    }
    for (const id of hasEnded(expectedRun.row) ? [] : expectedRun.posted) {
      if (!expectedRun.known.has(`message:${id}`))
        this.#monitor.violate("I4", `run ${expectedRun.id}: message ${id} was accepted but is not in the inbox`);
    }
    if (hasEnded(expectedRun.row) && now.size > 0)
      this.#monitor.violate("I6", `run ${expectedRun.id} is ${expectedRun.row.status}, but its inbox is not empty`);
    expectedRun.inbox = now;
  }
}

/** True if the run ended without receiving this event. The event is delivered again if the run is reopened. */
function isLeftBehind(expectedRun: ExpectedRun, entry: InboxEntry): boolean {
  const before = expectedRun.known.get(entryKey(entry));
  return (
    entry.kind === "event" &&
    before !== undefined &&
    !expectedRun.received.has(before) &&
    !expectedRun.inbox.has(before)
  );
}

/** The entries that a record received: ids of messages and events, locations of children. */
function receivedIds(record: JournalRecord): readonly string[] {
  switch (record.kind) {
    case "listen":
    case "event":
      return record.outcome === "timedOut" ? [] : idsIn(record.payload);
    case "select":
      if (record.detail === "m" || record.detail === "t") return idsIn(record.payload);
      return record.detail === "c" ? [`${record.location}.c`] : [];
    case "rollback":
      // A child is rolled back by an awaited run. A rollback of a step is a body with attempts.
      return record.attempts === 0 ? [record.location] : [];
    case "child":
      return [record.location.replace(/\/(result|~rollback\/~end)$/, "")];
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
