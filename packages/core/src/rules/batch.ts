import type { InboxEntry } from "../model/inbox.ts";
import type { NewRun } from "../model/run.ts";
import type { RunHistory, Wake } from "../model/transition.ts";
import { numbered } from "./run-head.ts";
import type { HeadDraft, RunHead, Tables } from "./tables.ts";

/** A run may be woken by many entries of one commit. */
type WakeDraft = { -readonly [Field in keyof Omit<Wake, "entries">]: Wake[Field] } & { entries: InboxEntry[] | null };

/** One commit in progress: the rows, its time, and the runs that it makes ready. */
export class Batch {
  readonly tables: Tables;
  readonly now: number;
  readonly #wakes = new Map<string, WakeDraft>();
  /** The worker that was last found to have a row. */
  #registered: string | null = null;

  constructor(tables: Tables, now: number) {
    this.tables = tables;
    this.now = now;
  }

  get wakes(): readonly Wake[] {
    return this.#wakes.size === 0 ? [] : [...this.#wakes.values()];
  }

  wake(head: Pick<RunHead, "id" | "owner" | "epoch">, entry: InboxEntry | null = null): void {
    const { id: runId, owner, epoch } = head;
    const before = this.#wakes.get(runId);
    if (before === undefined) {
      this.#wakes.set(runId, { runId, owner, epoch, entries: entry === null ? null : [entry] });
      return;
    }
    before.owner = owner;
    before.epoch = epoch;
    if (entry === null) before.entries = null;
    else before.entries?.push(entry);
  }

  /** Wakes a run without an owner if it can be claimed at once. */
  wakeClaimable(head: Pick<RunHead, "id" | "owner" | "epoch" | "wakeAt">): void {
    if (head.owner === null && head.wakeAt !== null && head.wakeAt <= this.now) this.wake(head);
  }

  /**
   * Ensures that an owner has a row. A worker whose lease expired unnoticed gets an expired one: its next heartbeat reports that, or other
   * workers free its runs.
   */
  register(worker: string): void {
    if (worker === this.#registered) return;
    this.#registered = worker;
    const { workers } = this.tables;
    if (workers.expiresAt(worker) === null) workers.save(worker, 0);
  }

  /** False if a run has this id. */
  create(run: NewRun, history?: RunHistory): boolean {
    const owned = run.owner !== null;
    const end = history?.life?.end;
    const head: HeadDraft = {
      key: 0,
      id: run.id,
      workflow: run.workflow,
      version: run.version,
      startId: run.startId,
      createdAt: run.createdAt,
      status: end?.status ?? (owned ? "running" : "pending"),
      epoch: 1,
      turn: 0,
      owner: run.owner,
      wakeAt: owned || end !== undefined ? null : run.startAt,
      inboxLast: 0,
      baseSeq: history?.life?.baseSeq ?? 0,
      generation: history?.life?.generation ?? 0,
      claims: 0,
      claimSeq: 0,
      startedAt: history?.life === undefined ? (owned ? run.createdAt : null) : history.life.startedAt,
      endedAt: end?.at ?? null,
      undo: history?.undo ?? "none",
      controlId: null,
      topics: 0,
    };
    if (!this.tables.runs.insert(run, head)) return false;
    if (history?.life !== undefined) this.tables.runs.saveProgram(head, run);
    if (history !== undefined) this.#fill(head, history);
    if (end !== undefined) this.tables.runs.saveOutcome(head, end.outcome);
    if (run.owner !== null) this.register(run.owner);
    this.wakeClaimable(head);
    return true;
  }

  /** Inserts the records and inbox entries of a run that starts with a history. */
  #fill(head: HeadDraft, { records, inbox, life }: RunHistory): void {
    const { tables } = this;
    if (records.length > 0) {
      tables.journal.fill(
        head,
        records.map((record, index) => ({ ...record, seq: life?.seqs[index] ?? head.baseSeq + 1 + index })),
      );
    }
    tables.runs.saveUndo(head);
    for (const entry of inbox) {
      if (tables.inbox.add(head, numbered(head.inboxLast + 1, entry))) head.inboxLast += 1;
    }
    tables.runs.saveInbox(head);
  }
}
