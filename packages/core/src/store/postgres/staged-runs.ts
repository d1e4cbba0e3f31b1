import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import type { AwaitedPosts, HeadDraft, InboxTable, JournalTable, RunHead, RunTable } from "../../rules/tables.ts";
import { type KnownRows, type KnownRun, pairKey, RowsMissing, type RowsToRead } from "./known-rows.ts";

/** A run during a commit: the known row, and the changes so far. */
export interface StagedRun {
  /** Null if this commit creates the run. */
  readonly known: KnownRun | null;
  readonly created: NewRun | null;
  head: RunHead;
  /** The wait, reduced to what posts need; complete if this commit saves it. */
  wait: Wait | AwaitedPosts | null;
  newest: number;
  /** The row or rows that belong to it change, so its `rev` is compared. */
  touched: boolean;
  /** Its `rev` is compared even if nothing changes: a cached row may be stale, and so may a refusal. */
  compared: boolean;
  /** Its row changes. */
  saved: boolean;
  setsWait: boolean;
  outcome: { readonly value: Payload } | null;
  input: { readonly value: Payload } | null;
  /** The facts of another start of the run, if it starts again. */
  start: NewRun | null;
  records: readonly JournalRecord[];
  cuts: readonly { readonly first: number; readonly last: number }[];
  added: InboxEntry[];
  addedIds: Set<string> | null;
  /** Numbers of added entries that the run may have had before. */
  restored: Set<number> | null;
  taken: Set<number> | null;
  /** The newest number of each entry in the inbox, by `pairKey`. Null until it is needed. */
  numbers: Map<string, number> | null;
  /** The topics it waits on from now on. Null if unchanged. */
  topics: ReadonlySet<string> | null;
  seen: Map<string, number> | null;
}

/** Most runs have one change per commit, so empty lists are shared. */
const NONE: readonly never[] = [];

/** `optimistic` means that ids which were not read count as new. The database refuses the commit if they are not. */
export type Trust = "optimistic" | "verified";

/** The runs of one commit, staged from the known rows on first use. */
export class StagedRuns {
  readonly rows: KnownRows;
  readonly wanted: RowsToRead;
  readonly trust: Trust;
  /** Runs that count as having no open child to cancel. The database checks it. */
  readonly childless = new Set<string>();
  readonly #runs = new Map<string, StagedRun>();
  /** Children that this commit creates and that are cancelled with their parent, by parent id. */
  readonly #children = new Map<string, StagedRun[]>();

  constructor(rows: KnownRows, wanted: RowsToRead, trust: Trust) {
    this.rows = rows;
    this.wanted = wanted;
    this.trust = trust;
  }

  get size(): number {
    return this.#runs.size;
  }

  all(): IterableIterator<StagedRun> {
    return this.#runs.values();
  }

  /** Null if the run does not exist. */
  find(runId: string): StagedRun | null {
    const staged = this.#runs.get(runId);
    if (staged !== undefined) return staged;
    const known = this.rows.run(runId);
    if (known === undefined) {
      this.wanted.runs.add(runId);
      throw new RowsMissing();
    }
    if (known === null) return null;
    const run = this.#stage(runId, blank(known.head, known, null));
    run.compared = this.rows.isRemembered(runId);
    return run;
  }

  /** Returns a run that must exist, because the caller has its head. */
  of(head: RunHead): StagedRun {
    const staged = this.find(head.id);
    if (staged === null) throw new Error(`run ${head.id} not found`);
    return staged;
  }

  /** Returns the run only if it is staged already. */
  peek(runId: string): StagedRun | undefined {
    return this.#runs.get(runId);
  }

  /** False if a run with this id exists. */
  create(run: NewRun, head: RunHead): boolean {
    if (this.#runs.has(run.id)) return false;
    const known = this.rows.run(run.id);
    if (known === undefined && this.trust === "verified") {
      this.wanted.runs.add(run.id);
      throw new RowsMissing();
    }
    if (known !== undefined && known !== null) return this.find(run.id) === null;
    const staged = this.#stage(run.id, blank(head, null, run));
    if (run.parent?.onClose === "cancel") this.#adopt(run.parent.runId, staged);
    return true;
  }

  /** Children that this commit creates and that are cancelled with their parent. */
  childrenOf(runId: string): readonly StagedRun[] {
    return this.#children.get(runId) ?? NONE;
  }

  touch(head: RunHead): StagedRun {
    const staged = this.of(head);
    staged.touched = true;
    return staged;
  }

  save(head: RunHead): StagedRun {
    const staged = this.touch(head);
    staged.head = head;
    staged.saved = true;
    return staged;
  }

  knowsEntry(run: StagedRun, kind: string, id: string): boolean {
    const key = pairKey(kind, id);
    if (run.addedIds?.has(key)) return true;
    if (run.created !== null) return false;
    const known = this.rows.known.get(pairKey(run.head.id, kind, id));
    if (known !== undefined) return known;
    this.wanted.known.set(pairKey(run.head.id, kind, id), { runId: run.head.id, kind, id });
    return false;
  }

  /** The inbox before this commit. */
  openBefore(run: StagedRun): readonly InboxEntry[] {
    if (run.created !== null) return [];
    const open = run.known?.inbox ?? this.rows.inboxes.get(run.head.id);
    if (open !== undefined) return open;
    this.wanted.inboxes.add(run.head.id);
    throw new RowsMissing();
  }

  /** The newest seq that remains when all records after `seq` are deleted. */
  newestUpTo(run: StagedRun, seq: number): number {
    if (seq >= run.newest) return run.newest;
    const added = run.records.findLast((record) => record.seq <= seq);
    if (added !== undefined) return added.seq;
    if (run.created !== null) return run.head.baseSeq;
    const { id } = run.head;
    const known = this.rows.floors.get(pairKey(id, String(seq)));
    if (known === undefined) this.wanted.floors.set(pairKey(id, String(seq)), { runId: id, seq });
    return known ?? seq;
  }

  #adopt(parentId: string, child: StagedRun): void {
    const children = this.#children.get(parentId);
    if (children === undefined) this.#children.set(parentId, [child]);
    else children.push(child);
  }

  #stage(runId: string, run: StagedRun): StagedRun {
    this.#runs.set(runId, run);
    return run;
  }
}

function blank(head: RunHead, known: KnownRun | null, created: NewRun | null): StagedRun {
  return {
    known,
    created,
    head,
    wait: known?.wait ?? null,
    newest: known?.newest ?? head.baseSeq,
    touched: created !== null,
    compared: false,
    saved: created !== null,
    setsWait: false,
    outcome: null,
    input: null,
    start: null,
    records: NONE,
    cuts: NONE,
    added: [],
    addedIds: null,
    restored: null,
    taken: null,
    numbers: null,
    topics: null,
    seen: null,
  };
}

/** The maximum of the column `seq`. */
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

  saveStart(head: RunHead, run: NewRun): void {
    this.saveProgram(head, run);
    const staged = this.#runs.of(head);
    staged.start = run;
    staged.newest = head.baseSeq;
  }

  openChildren(runId: string): readonly RunHead[] {
    const known = this.#runs.rows.children.get(runId) ?? this.#childrenUnread(runId);
    const heads = known.flatMap((id) => this.head(id) ?? []);
    for (const { head } of this.#runs.childrenOf(runId)) heads.push(head);
    return heads.filter(({ endedAt }) => endedAt === null);
  }

  #childrenUnread(runId: string): readonly string[] {
    if (this.#runs.trust === "optimistic") {
      this.#runs.childless.add(runId);
      return [];
    }
    this.#runs.wanted.children.add(runId);
    throw new RowsMissing();
  }

  get(): never {
    return notInCommit("runs.get");
  }
  claimable(): never {
    return notInCommit("runs.claimable");
  }
  ownedBy(): never {
    return notInCommit("runs.ownedBy");
  }
  ended(): never {
    return notInCommit("runs.ended");
  }
  remove(): never {
    return notInCommit("runs.remove");
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
      run.addedIds?.has(key) || (this.#runs.trust === "verified" && this.#runs.knowsEntry(run, entry.kind, entry.id));
    if (isKnown) return false;
    this.#insert(run, key, entry);
    return true;
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    const key = pairKey(entry.kind, entry.id);
    const run = this.#runs.of(head);
    if (this.#isOpen(run, key)) return false;
    run.touched = true;
    this.#insert(run, key, entry);
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

  #insert(run: StagedRun, key: string, entry: InboxEntry): void {
    run.addedIds ??= new Set();
    run.addedIds.add(key);
    run.added.push(entry);
    run.numbers?.set(key, entry.n);
  }

  /** Whether the inbox holds an entry with this key. Only the newest number counts: an older one was taken before it was restored. */
  #isOpen(run: StagedRun, key: string): boolean {
    run.numbers ??= new Map(
      [...this.#runs.openBefore(run), ...run.added].map(({ kind, id, n }) => [pairKey(kind, id), n]),
    );
    const n = run.numbers.get(key);
    return n !== undefined && !run.taken?.has(n);
  }

  forgetBefore(): never {
    return notInCommit("inbox.forgetBefore");
  }
  removeAll(): never {
    return notInCommit("inbox.removeAll");
  }
}

/** Mostly `before` is empty. */
function joined<Item>(before: readonly Item[], more: readonly Item[]): readonly Item[] {
  return before.length === 0 ? more : [...before, ...more];
}

/** For methods of `Tables` that no commit calls: claims, heartbeats and retention are functions of the database. */
export function notInCommit(method: string): never {
  throw new Error(`${method} is not available in a commit`);
}
