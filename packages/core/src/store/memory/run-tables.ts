import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import { isTerminal, type NewRun, type Payload, type Run, type Wait } from "../../model/run.ts";
import type {
  AwaitedPosts,
  ClaimableQuery,
  EndedQuery,
  HeadDraft,
  InboxTable,
  JournalTable,
  RunHead,
  RunTable,
  TopicTable,
} from "../../rules/tables.ts";
import { DueQueues, SetsByName } from "./due-queues.ts";
import { cellOf, MemoryRun, type MemoryRuns, runOfCell } from "./memory-run.ts";

const NONE: readonly RunHead[] = [];

export class MemoryRunTable implements RunTable {
  #lastKey: number;
  readonly queues = new DueQueues();
  readonly #cells: MemoryRuns;
  readonly #owned = new SetsByName<MemoryRun>();
  readonly #children = new SetsByName<MemoryRun>();

  constructor(cells: MemoryRuns, lastKey = 0) {
    this.#cells = cells;
    this.#lastKey = lastKey;
  }

  head(runId: string): RunHead | null {
    return this.#cells.get(runId)?.head ?? null;
  }

  get(runId: string): Run | null {
    const cell = this.#cells.get(runId);
    return cell === undefined ? null : runOfCell(cell);
  }

  wait(head: RunHead): AwaitedPosts | null {
    return cellOf(this.#cells, head).wait;
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    if (this.#cells.has(run.id)) return false;
    this.#lastKey += 1;
    head.key = this.#lastKey;
    const cell = new MemoryRun(run, head);
    this.#cells.set(run.id, cell);
    if (run.parent !== null) this.#children.add(run.parent.runId, cell);
    if (head.owner !== null) this.#owned.add(head.owner, cell);
    this.queues.note(cell);
    return true;
  }

  /** A row from elsewhere, as it is there. */
  load(cell: MemoryRun): void {
    const { head, parent } = cell;
    this.#lastKey = Math.max(this.#lastKey, head.key);
    this.#cells.set(head.id, cell);
    if (parent !== null) this.#children.add(parent.runId, cell);
    if (head.owner !== null) this.#owned.add(head.owner, cell);
    this.queues.note(cell);
  }

  saveOwner(head: RunHead): void {
    this.#save(head);
  }

  saveInbox(head: RunHead): void {
    this.#save(head);
  }

  saveReady(head: RunHead): void {
    this.#save(head);
  }

  saveUndo(head: RunHead): void {
    this.#save(head);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    this.#save(head).wait = wait;
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    const cell = this.#save(head);
    cell.wait = null;
    cell.outcome = outcome;
  }

  saveVersion(head: RunHead): void {
    this.#save(head);
  }

  saveProgram(head: RunHead, { input }: Pick<Run, "input">): void {
    const cell = this.#save(head);
    cell.wait = null;
    cell.input = input;
  }

  openChildren(runId: string): readonly RunHead[] {
    if (!this.#children.has(runId)) return NONE;
    return this.children(runId)
      .filter((cell) => cell.parent?.onClose === "cancel" && !isTerminal(cell.head.status))
      .map((cell) => cell.head);
  }

  children(runId: string): MemoryRun[] {
    return [...this.#children.of(runId)];
  }

  claimable(query: ClaimableQuery): readonly RunHead[] {
    return this.queues.claimable(query).map((cell) => cell.head);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return [...this.#owned.of(worker)].slice(0, limit).map((cell) => cell.head);
  }

  ended({ before, statuses, limit }: EndedQuery): readonly RunHead[] {
    const heads: RunHead[] = [];
    for (const cell of this.#cells.values()) {
      const { endedAt, status, id } = cell.head;
      if (endedAt === null || endedAt >= before || !statuses.includes(status)) continue;
      if (!this.#children.has(id) && !this.#isBelowOpen(cell)) heads.push(cell.head);
    }
    const rank = (head: RunHead): number => statuses.indexOf(head.status);
    heads.sort((left, right) => rank(left) - rank(right) || left.createdAt - right.createdAt || left.key - right.key);
    return heads.slice(0, limit);
  }

  remove(head: RunHead): void {
    const cell = cellOf(this.#cells, head);
    if (cell.parent !== null) this.#children.remove(cell.parent.runId, cell);
    this.#cells.delete(head.id);
  }

  /** Whether a run above is open, and has not been continued since the run below it was made. */
  #isBelowOpen(run: MemoryRun): boolean {
    for (let cell = run; cell.parent !== null; ) {
      const above = this.#cells.get(cell.parent.runId);
      if (above === undefined || cell.head.createdAt < (above.head.startedAt ?? 0)) return false;
      if (!isTerminal(above.head.status)) return true;
      cell = above;
    }
    return false;
  }

  #save(head: RunHead): MemoryRun {
    const cell = cellOf(this.#cells, head);
    const before = cell.head;
    cell.head = head;
    if (before.owner !== head.owner) {
      if (before.owner !== null) this.#owned.remove(before.owner, cell);
      if (head.owner !== null) this.#owned.add(head.owner, cell);
    }
    this.queues.note(cell);
    return cell;
  }
}

export class MemoryJournalTable implements JournalTable {
  readonly #cells: MemoryRuns;

  constructor(cells: MemoryRuns) {
    this.#cells = cells;
  }

  newestSeq(head: RunHead): number {
    return newestSeq(cellOf(this.#cells, head));
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    add(cellOf(this.#cells, head), records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    const { journal } = cellOf(this.#cells, head);
    for (const record of records) journal.push(record);
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const cell = this.#cells.get(runId);
    const [first] = records;
    if (cell === undefined || first === undefined) return false;
    const { head } = cell;
    if (head.epoch !== epoch || isTerminal(head.status) || first.seq !== newestSeq(cell) + 1) return false;
    add(cell, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    cellOf(this.#cells, head).journal.keep((seq) => seq > seqMax);
  }

  cutAfter(head: RunHead, seq: number): void {
    cellOf(this.#cells, head).journal.keep((each) => each <= seq);
  }

  trim(head: RunHead, { from, to }: SeqRange): void {
    cellOf(this.#cells, head).journal.keep((seq) => seq < from || seq > to);
  }
}

function newestSeq({ journal, head }: MemoryRun): number {
  return journal.newestSeq ?? head.baseSeq;
}

function add(cell: MemoryRun, records: readonly JournalRecord[]): void {
  let newest = newestSeq(cell);
  for (const record of records) {
    if (record.seq !== newest + 1)
      throw new Error(`record ${record.seq} of run ${cell.head.id} does not follow ${newest}`);
    cell.journal.push(record);
    newest = record.seq;
  }
}

export class MemoryInboxTable implements InboxTable {
  readonly #cells: MemoryRuns;

  constructor(cells: MemoryRuns) {
    this.#cells = cells;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = cellOf(this.#cells, head);
    const key = knownKey(entry.kind, entry.id);
    if (known.has(key)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = cellOf(this.#cells, head);
    const key = knownKey(entry.kind, entry.id);
    const had = known.get(key);
    if (had !== undefined && inbox.has(had.n)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return cellOf(this.#cells, head).known.has(knownKey(kind, id));
  }

  take(head: RunHead, n: number): void {
    cellOf(this.#cells, head).inbox.delete(n);
  }

  open(head: RunHead): readonly InboxEntry[] {
    return [...cellOf(this.#cells, head).inbox.values()];
  }

  takeAll(head: RunHead): void {
    cellOf(this.#cells, head).inbox.clear();
  }

  forgetBefore(before: number, limit: number): number {
    let forgotten = 0;
    for (const { inbox, known } of this.#cells.values()) {
      for (const [key, { n, at }] of known) {
        if (forgotten === limit) return forgotten;
        if (at >= before || inbox.has(n)) continue;
        known.delete(key);
        forgotten += 1;
      }
    }
    return forgotten;
  }

  removeAll(head: RunHead): void {
    const { inbox, known } = cellOf(this.#cells, head);
    inbox.clear();
    known.clear();
  }
}

/** No kind holds a colon. */
function knownKey(kind: InboxEntry["kind"], id: string): string {
  return `${kind}:${id}`;
}

export class MemoryTopicTable implements TopicTable {
  readonly #cells: MemoryRuns;
  /** A set keeps the order in which the runs subscribed. */
  readonly #waiters = new SetsByName<MemoryRun>();

  constructor(cells: MemoryRuns) {
    this.#cells = cells;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const cell = cellOf(this.#cells, head);
    for (const topic of [...cell.topics]) if (!topics.includes(topic)) this.#leave(cell, topic);
    for (const topic of topics) {
      cell.topics.add(topic);
      this.#waiters.add(topic, cell);
    }
  }

  unsubscribe(head: RunHead): void {
    const cell = cellOf(this.#cells, head);
    for (const topic of [...cell.topics]) this.#leave(cell, topic);
  }

  longestWaiter(topic: string): RunHead | null {
    for (const cell of this.#waiters.of(topic)) return cell.head;
    return null;
  }

  waiters(topic: string): readonly RunHead[] {
    return Array.from(this.#waiters.of(topic), (cell) => cell.head);
  }

  seen(head: RunHead, topic: string): number {
    return cellOf(this.#cells, head).topicSeen.get(topic) ?? 0;
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    cellOf(this.#cells, head).topicSeen.set(topic, n);
  }

  forgetSeen(head: RunHead): void {
    cellOf(this.#cells, head).topicSeen.clear();
  }

  #leave(cell: MemoryRun, topic: string): void {
    cell.topics.delete(topic);
    this.#waiters.remove(topic, cell);
  }
}
