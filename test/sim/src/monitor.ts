import type { Run, Transition } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type ExpectedRun, newExpectedRun } from "./expected-run.ts";
import { EffectsMonitor } from "./monitor-effects.ts";
import { isEndedGeneration } from "./monitor-generations.ts";
import { InboxMonitor } from "./monitor-inbox.ts";
import { JournalMonitor } from "./monitor-journal.ts";
import { rebuildCompletions, rewritten } from "./monitor-operator-actions.ts";
import { checkRow, LeaseMonitor } from "./monitor-ownership.ts";
import { checkGone } from "./monitor-retention.ts";
import { SuspectMonitor } from "./monitor-suspects.ts";
import { TransactionMonitor } from "./monitor-transactions.ts";
import { checkWaits, EventLedger } from "./monitor-waits.ts";
import type { MonitorContext, SimProcess, SimulationContext } from "./simulation-context.ts";

export interface Violation {
  readonly invariant: string;
  readonly text: string;
}

/** Initializes a run that starts with the history of another run. */
function initialize(expectedRun: ExpectedRun, batch: readonly Transition[], source: ExpectedRun | undefined): void {
  for (const transition of batch) {
    const history =
      transition.kind === "create"
        ? transition.run.id === expectedRun.id && transition.history
        : "posts" in transition &&
          transition.posts.flatMap((post) => (post.kind === "start" && post.run.id === expectedRun.id ? [post] : []))[0]
            ?.history;
    if (history === undefined || history === false) continue;
    expectedRun.journal = history.records.map((record, index) => ({
      ...record,
      seq: expectedRun.row.baseSeq + 1 + index,
    }));
    expectedRun.history = rewritten(source?.history ?? [], expectedRun.journal);
    expectedRun.reopened = 1;
    rebuildCompletions(expectedRun);
    return;
  }
}

const ROWS_MAX = 1000;

/**
 * Watches the shared store. After each applied call it compares rows, journals and inboxes with the expected state. Violations are
 * collected here and not thrown, because engine code could catch them.
 */
export class Monitor implements MonitorContext {
  readonly violations: Violation[] = [];
  readonly expectedRuns = new Map<string, ExpectedRun>();
  readonly effects: EffectsMonitor;
  readonly transactions: TransactionMonitor;
  readonly suspects: SuspectMonitor;
  readonly events = new EventLedger();
  /** Dead letters that were replayed or discarded. */
  readonly lettersTaken = new Set<string>();
  readonly #simulation: SimulationContext;
  readonly #journal: JournalMonitor;
  readonly #inbox: InboxMonitor;
  readonly #leases: LeaseMonitor;

  constructor(simulation: SimulationContext) {
    this.#simulation = simulation;
    this.#journal = new JournalMonitor(this, simulation);
    this.#inbox = new InboxMonitor(this, simulation);
    this.#leases = new LeaseMonitor(this, simulation);
    this.transactions = new TransactionMonitor(this, simulation);
    this.effects = new EffectsMonitor(this, simulation);
    this.suspects = new SuspectMonitor(this, simulation);
  }

  violate(invariant: string, text: string): void {
    this.violations.push({ invariant, text });
    this.#simulation.scheduler.remark(`VIOLATION ${invariant}: ${text}`);
  }

  async applied(worker: SimProcess, applied: AppliedCall): Promise<void> {
    const before = new Map<string, Run>();
    for (const [id, expectedRun] of this.expectedRuns) before.set(id, expectedRun.row);
    const reopened = new Map(Array.from(this.expectedRuns, ([id, expectedRun]) => [id, expectedRun.reopened]));
    const rows = await this.#rows();
    this.#leases.check(worker, applied, before, rows);
    if (applied.kind === "claim") this.suspects.claimed(worker, applied.runs, before);
    checkGone(this, applied, before, rows);
    if (applied.kind === "commit") {
      this.#journal.check(worker, applied, before);
      this.transactions.check(applied);
    }
    for (const row of rows) {
      const old = before.get(row.id) ?? null;
      const expectedRun = this.#shadowOf(row, applied);
      if (old !== null) checkRow(this, old, row, expectedRun.reopened !== reopened.get(row.id));
      expectedRun.row = row;
    }
    if (applied.kind === "heartbeat") this.effects.heartbeatApplied(applied.answer, rows);
    if (applied.kind === "commit") {
      await this.#journal.compare(applied);
      await this.#inbox.check(applied, before);
      this.events.note(applied);
      for (const transition of applied.batch)
        if (transition.kind === "letter") this.lettersTaken.add(transition.letterId);
      this.#checkChildren(before, rows);
      for (const row of rows)
        if (row.status === "completed" && before.get(row.id)?.status !== "completed") this.#checkSteps(row);
    }
    checkWaits(this, this.#simulation.storeNowMax);
  }

  #shadowOf(row: Run, applied: AppliedCall): ExpectedRun {
    const known = this.expectedRuns.get(row.id);
    if (known !== undefined) return known;
    const expectedRun = newExpectedRun(row);
    this.expectedRuns.set(row.id, expectedRun);
    if (applied.kind === "commit")
      initialize(expectedRun, applied.batch, this.expectedRuns.get(row.id.replace(/-a\d+$|\/\/~undo$/, "")));
    return expectedRun;
  }

  async #rows(): Promise<readonly Run[]> {
    const { items } = await this.#simulation.store.reader.list({ limit: ROWS_MAX });
    return items.filter(({ id }) => !isEndedGeneration(id));
  }

  /** Called when all runs have ended. */
  checkChildrenUndone(): void {
    this.#journal.checkChildrenUndone();
  }

  #checkSteps(row: Run): void {
    const expectedRun = this.expectedRuns.get(row.id);
    if (expectedRun !== undefined) this.effects.runCompleted(expectedRun);
  }

  /** I8: a child exists for a record of its parent, once per location; its end reaches the parent; the parent's end reaches it. */
  #checkChildren(before: ReadonlyMap<string, Run>, rows: readonly Run[]): void {
    for (const row of rows) {
      const old = before.get(row.id) ?? null;
      const ended = row.endedAt !== null && (old === null || old.endedAt === null);
      // A run that rolls back a child exists before its record.
      if (row.parent !== null && old === null && !row.id.endsWith("//~undo")) this.#checkOrigin(row);
      if (row.parent !== null && ended) this.#checkTold(row, row.parent, before);
      if (ended) this.#checkClosed(row, rows);
    }
  }

  #checkOrigin(row: Run): void {
    const parent = row.parent === null ? undefined : this.expectedRuns.get(row.parent.runId);
    if (parent === undefined || row.parent === null) {
      this.violate("I8", `child ${row.id} has no parent`);
      return;
    }
    const spawned = parent.spawned.get(row.id) ?? 0;
    if (spawned !== 1) this.violate("I8", `child ${row.id}: ${spawned} records of its parent's journal started it`);
  }

  #checkTold(row: Run, { runId, location }: NonNullable<Run["parent"]>, before: ReadonlyMap<string, Run>): void {
    const parent = this.expectedRuns.get(runId);
    if (parent === undefined || parent.row.endedAt !== null) return;
    // An ended parent receives nothing. If the same commit reopens it before the child was started, it needs nothing.
    const wasOver = (before.get(runId)?.endedAt ?? null) !== null;
    if (wasOver && !parent.journal.some(({ kind, detail }) => kind === "spawn" && detail === row.id)) return;
    const received = [...parent.known.keys()].filter((key) => key.startsWith("child:") && key.endsWith(`:${row.id}`));
    if (received.length !== 1)
      this.violate(
        "I8",
        `child ${row.id} ended; its parent ${runId} received the end ${received.length} times (${location})`,
      );
  }

  #checkClosed(row: Run, rows: readonly Run[]): void {
    for (const child of rows) {
      if (child.parent?.runId !== row.id || child.parent.onClose !== "cancel" || child.endedAt !== null) continue;
      // A compensating child is already cancelled, or ends by itself.
      if (child.undo === "underWay") continue;
      const expectedRun = this.expectedRuns.get(child.id);
      const isCancelled = [...(expectedRun?.inbox.values() ?? [])].some((entry) => entry.kind === "cancel");
      if (!isCancelled) this.violate("I8", `run ${row.id} ended, but its open child ${child.id} was not cancelled`);
    }
  }
}
