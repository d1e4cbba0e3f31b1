import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import type { AwaitedPosts, HeadDraft, InboxTable, JournalTable, RunHead, RunTable } from "../tables.ts";
import { pairKey, RowsMissing } from "./known-rows.ts";
import { neverAsked } from "./never-asked.ts";
import type { StagedRuns } from "./staged-run.ts";

/** The greatest that a column for seqs holds. */
const SEQ_MAX = 2 ** 31 - 1;

export class StagedRunTable implements RunTable {
  readonly #runs: StagedRuns;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  head(runId: string): RunHead | null {
    return this.#runs.find(runId)?.head ?? null;
  }

  wait(head: RunHead): AwaitedPosts | null {
    return this.#runs.of(head).wait;
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    return this.#runs.create(run, head);
  }

  saveOwner(head: RunHead): void {
    this.#runs.save(head);
  }

  saveInbox(head: RunHead): void {
    this.#runs.save(head);
  }

  saveReady(head: RunHead): void {
    this.#runs.save(head);
  }

  saveUndo(head: RunHead): void {
    this.#runs.save(head);
  }

  saveVersion(head: RunHead): void {
    this.#runs.save(head);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    const run = this.#runs.save(head);
    run.wait = wait;
    run.setsWait = true;
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    this.saveWait(head, null);
    this.#runs.of(head).outcome = { value: outcome };
  }

  saveProgram(head: RunHead, { input }: Pick<Run, "input">): void {
    this.saveWait(head, null);
    this.#runs.of(head).input = { value: input };
  }

  openChildren(runId: string): readonly RunHead[] {
    const known = this.#runs.rows.children.get(runId) ?? this.#childrenUnread(runId);
    const heads = known.flatMap((id) => this.head(id) ?? []);
    for (const { head } of this.#runs.childrenOf(runId)) heads.push(head);
    return heads.filter(({ endedAt }) => endedAt === null);
  }

  #childrenUnread(runId: string): readonly string[] {
    if (this.#runs.trust === "trusting") {
      this.#runs.childless.add(runId);
      return [];
    }
    this.#runs.wanted.children.add(runId);
    throw new RowsMissing();
  }

  get(): never {
    return neverAsked("runs.get");
  }
  claimable(): never {
    return neverAsked("runs.claimable");
  }
  ownedBy(): never {
    return neverAsked("runs.ownedBy");
  }
  ended(): never {
    return neverAsked("runs.ended");
  }
  remove(): never {
    return neverAsked("runs.remove");
  }
}

export class StagedJournalTable implements JournalTable {
  readonly #runs: StagedRuns;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  newestSeq(head: RunHead): number {
    return this.#runs.of(head).newest;
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    const run = this.#runs.touch(head);
    for (const record of records) {
      if (record.seq !== run.newest + 1) {
        throw new Error(`record ${record.seq} of run ${head.id} does not follow ${run.newest}`);
      }
      run.newest = record.seq;
    }
    run.records = joined(run.records, records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    const run = this.#runs.touch(head);
    run.records = joined(run.records, records);
    run.newest = records.at(-1)?.seq ?? run.newest;
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const run = this.#runs.find(runId);
    if (run === null || run.head.epoch !== epoch || run.head.endedAt !== null) return false;
    if (records[0]?.seq !== run.newest + 1) return false;
    this.append(run.head, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    this.trim(head, { from: 0, to: Math.min(seqMax, SEQ_MAX) });
  }

  cutAfter(head: RunHead, seq: number): void {
    const newest = this.#runs.newestUpTo(this.#runs.of(head), seq);
    this.trim(head, { from: seq + 1, to: SEQ_MAX });
    this.#runs.of(head).newest = newest;
  }

  trim(head: RunHead, { from, to }: SeqRange): void {
    const run = this.#runs.touch(head);
    run.records = run.records.filter(({ seq }) => seq < from || seq > to);
    run.cuts = [...run.cuts, { first: from, last: to }];
  }
}

export class StagedInboxTable implements InboxTable {
  readonly #runs: StagedRuns;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    const run = this.#runs.touch(head);
    const key = pairKey(entry.kind, entry.id);
    const isKnown =
      run.addedIds?.has(key) || (this.#runs.trust === "careful" && this.#runs.knowsEntry(run, entry.kind, entry.id));
    if (isKnown) return false;
    run.addedIds ??= new Set();
    run.addedIds.add(key);
    run.added.push(entry);
    return true;
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    if (this.open(head).some(({ kind, id }) => kind === entry.kind && id === entry.id)) return false;
    const run = this.#runs.touch(head);
    run.addedIds ??= new Set();
    run.addedIds.add(pairKey(entry.kind, entry.id));
    run.added.push(entry);
    run.restored ??= new Set();
    run.restored.add(entry.n);
    return true;
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return this.#runs.knowsEntry(this.#runs.of(head), kind, id);
  }

  take(head: RunHead, n: number): void {
    const run = this.#runs.touch(head);
    run.taken ??= new Set();
    run.taken.add(n);
  }

  open(head: RunHead): readonly InboxEntry[] {
    const run = this.#runs.of(head);
    return [...this.#runs.openBefore(run), ...run.added].filter(({ n }) => !run.taken?.has(n));
  }

  takeAll(head: RunHead): void {
    for (const { n } of this.open(head)) this.take(head, n);
  }

  forgetBefore(): never {
    return neverAsked("inbox.forgetBefore");
  }
  removeAll(): never {
    return neverAsked("inbox.removeAll");
  }
}

/** Mostly there was nothing before. */
function joined<Item>(before: readonly Item[], more: readonly Item[]): readonly Item[] {
  return before.length === 0 ? more : [...before, ...more];
}
