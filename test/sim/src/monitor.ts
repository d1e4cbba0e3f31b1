import type { Run, Transition } from "pawl";
import type { Applied } from "./applied.ts";
import { relearn, rewritten } from "./monitor-acts.ts";
import { EffectsMonitor } from "./monitor-effects.ts";
import { InboxMonitor } from "./monitor-inbox.ts";
import { JournalMonitor } from "./monitor-journal.ts";
import { checkRow, LeaseMonitor } from "./monitor-ownership.ts";
import { checkGone } from "./monitor-retention.ts";
import { TransactionMonitor } from "./monitor-transactions.ts";
import { checkWaits, EventLedger } from "./monitor-waits.ts";
import { newShadow, type Shadow } from "./shadow.ts";
import type { SimProcess, Stage, Watcher } from "./stage.ts";

export interface Violation {
  readonly invariant: string;
  readonly text: string;
}

/** A run that was made from the history of another has it from the start. */
function begin(shadow: Shadow, batch: readonly Transition[], source: Shadow | undefined): void {
  for (const transition of batch) {
    const history =
      transition.kind === "create"
        ? transition.run.id === shadow.id && transition.history
        : "posts" in transition &&
          transition.posts.flatMap((post) => (post.kind === "start" && post.run.id === shadow.id ? [post] : []))[0]
            ?.history;
    if (history === undefined || history === false) continue;
    shadow.journal = history.records.map((record, index) => ({ ...record, seq: shadow.row.baseSeq + 1 + index }));
    shadow.history = rewritten(source?.history ?? [], shadow.journal);
    shadow.reopened = 1;
    relearn(shadow);
    return;
  }
}

const ROWS_MAX = 1000;

/**
 * Watches the shared store: after each call that was applied, rows, journals and inboxes are compared with what they must be.
 * Violations are noted here and thrown at nobody: engine code could swallow them.
 */
export class Monitor implements Watcher {
  readonly violations: Violation[] = [];
  readonly shadows = new Map<string, Shadow>();
  readonly effects: EffectsMonitor;
  readonly transactions: TransactionMonitor;
  readonly events = new EventLedger();
  /** Dead letters that were sent again, or thrown away. */
  readonly lettersTaken = new Set<string>();
  readonly #world: Stage;
  readonly #journal: JournalMonitor;
  readonly #inbox: InboxMonitor;
  readonly #leases: LeaseMonitor;

  constructor(world: Stage) {
    this.#world = world;
    this.#journal = new JournalMonitor(this, world);
    this.#inbox = new InboxMonitor(this, world);
    this.#leases = new LeaseMonitor(this, world);
    this.transactions = new TransactionMonitor(this, world);
    this.effects = new EffectsMonitor(this, world);
  }

  violate(invariant: string, text: string): void {
    this.violations.push({ invariant, text });
    this.#world.scheduler.remark(`VIOLATION ${invariant}: ${text}`);
  }

  async applied(worker: SimProcess, applied: Applied): Promise<void> {
    const before = new Map<string, Run>();
    for (const [id, shadow] of this.shadows) before.set(id, shadow.row);
    const reopened = new Map(Array.from(this.shadows, ([id, shadow]) => [id, shadow.reopened]));
    const rows = await this.#rows();
    this.#leases.check(worker, applied, before, rows);
    checkGone(this, applied, before, rows);
    if (applied.kind === "commit") {
      this.#journal.check(worker, applied, before);
      this.transactions.check(applied);
    }
    for (const row of rows) {
      const old = before.get(row.id) ?? null;
      const shadow = this.#shadowOf(row, applied);
      if (old !== null) checkRow(this, old, row, shadow.reopened !== reopened.get(row.id));
      shadow.row = row;
    }
    if (applied.kind === "heartbeat") this.effects.beaten(applied.answer, rows);
    if (applied.kind === "commit") {
      await this.#journal.compare(applied);
      await this.#inbox.check(applied, before);
      this.events.note(applied);
      for (const transition of applied.batch)
        if (transition.kind === "letter") this.lettersTaken.add(transition.letterId);
      this.#checkChildren(before, rows);
    }
    checkWaits(this, this.#world.storeNowMax);
  }

  #shadowOf(row: Run, applied: Applied): Shadow {
    const known = this.shadows.get(row.id);
    if (known !== undefined) return known;
    const shadow = newShadow(row);
    this.shadows.set(row.id, shadow);
    if (applied.kind === "commit")
      begin(shadow, applied.batch, this.shadows.get(row.id.replace(/-a\d+$|\/\/~undo$/, "")));
    return shadow;
  }

  async #rows(): Promise<readonly Run[]> {
    return (await this.#world.store.reader.list({ limit: ROWS_MAX })).items;
  }

  /** I8: a child is there for a record of its parent, once a location; its end is told; its parent's end reaches it. */
  #checkChildren(before: ReadonlyMap<string, Run>, rows: readonly Run[]): void {
    for (const row of rows) {
      const old = before.get(row.id) ?? null;
      const ended = row.endedAt !== null && (old === null || old.endedAt === null);
      // A run that undoes what a child did is there before its record.
      if (row.parent !== null && old === null && !row.id.endsWith("//~undo")) this.#checkOrigin(row);
      if (row.parent !== null && ended) this.#checkTold(row, row.parent, before);
      if (ended) this.#checkClosed(row, rows);
    }
  }

  #checkOrigin(row: Run): void {
    const parent = row.parent === null ? undefined : this.shadows.get(row.parent.runId);
    if (parent === undefined || row.parent === null) {
      this.violate("I8", `child ${row.id} has no parent`);
      return;
    }
    const spawned = parent.spawned.get(row.id) ?? 0;
    if (spawned !== 1)
      this.violate("I8", `child ${row.id}: its parent's journal holds ${spawned} records that started it`);
  }

  #checkTold(row: Run, { runId, location }: NonNullable<Run["parent"]>, before: ReadonlyMap<string, Run>): void {
    const parent = this.shadows.get(runId);
    if (parent === undefined || parent.row.endedAt !== null) return;
    // One that had ended was told nothing, and if the same commit opens it where it has no such child it needs to hear nothing.
    const wasOver = (before.get(runId)?.endedAt ?? null) !== null;
    if (wasOver && !parent.journal.some(({ kind, detail }) => kind === "spawn" && detail === row.id)) return;
    const told = [...parent.known.keys()].filter((key) => key.startsWith("child:") && key.endsWith(`:${row.id}`));
    if (told.length !== 1)
      this.violate("I8", `child ${row.id} ended; its parent ${runId} was told ${told.length} times (${location})`);
  }

  #checkClosed(row: Run, rows: readonly Run[]): void {
    for (const child of rows) {
      if (child.parent?.runId !== row.id || child.parent.onClose !== "cancel" || child.endedAt !== null) continue;
      // One that undoes what it did has been asked, or goes to its end by itself.
      if (child.undo === "underWay") continue;
      const shadow = this.shadows.get(child.id);
      const asked = [...(shadow?.inbox.values() ?? [])].some((entry) => entry.kind === "cancel");
      if (!asked) this.violate("I8", `run ${row.id} ended; its open child ${child.id} was not asked to cancel`);
    }
  }
}
