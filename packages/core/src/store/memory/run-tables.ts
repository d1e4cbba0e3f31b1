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
import { MemoryRun, type MemoryRuns, memoryRunOf, runOfMemory } from "./memory-run.ts";

const NONE: readonly RunHead[] = [];

export class MemoryRunTable implements RunTable {
  #lastKey: number;
  readonly queues = new DueQueues();
  readonly #memoryRuns: MemoryRuns;
  readonly #owned = new SetsByName<MemoryRun>();
  readonly #children = new SetsByName<MemoryRun>();

  constructor(memoryRuns: MemoryRuns, lastKey = 0) {
    this.#memoryRuns = memoryRuns;
    this.#lastKey = lastKey;
  }

  head(runId: string): RunHead | null {
    return this.#memoryRuns.get(runId)?.head ?? null;
  }

  get(runId: string): Run | null {
    const memoryRun = this.#memoryRuns.get(runId);
    return memoryRun === undefined ? null : runOfMemory(memoryRun);
  }

  wait(head: RunHead): AwaitedPosts | null {
    return memoryRunOf(this.#memoryRuns, head).wait;
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    if (this.#memoryRuns.has(run.id)) return false;
    this.#lastKey += 1;
    head.key = this.#lastKey;
    const memoryRun = new MemoryRun(run, head);
    this.#memoryRuns.set(run.id, memoryRun);
    if (run.parent !== null) this.#children.add(run.parent.runId, memoryRun);
    if (head.owner !== null) this.#owned.add(head.owner, memoryRun);
    this.queues.update(memoryRun);
    return true;
  }

  /** Adds a stored row. */
  load(memoryRun: MemoryRun): void {
    const { head, parent } = memoryRun;
    this.#lastKey = Math.max(this.#lastKey, head.key);
    this.#memoryRuns.set(head.id, memoryRun);
    if (parent !== null) this.#children.add(parent.runId, memoryRun);
    if (head.owner !== null) this.#owned.add(head.owner, memoryRun);
    this.queues.update(memoryRun);
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
    const memoryRun = this.#save(head);
    memoryRun.wait = null;
    memoryRun.outcome = outcome;
  }

  saveVersion(head: RunHead): void {
    this.#save(head);
  }

  saveProgram(head: RunHead, { input }: Pick<Run, "input">): void {
    const memoryRun = this.#save(head);
    memoryRun.wait = null;
    memoryRun.input = input;
  }

  saveStart(head: RunHead, { tags, limits, input }: NewRun): void {
    const memoryRun = this.#save(head);
    memoryRun.tags = tags;
    memoryRun.limits = limits;
    memoryRun.input = input;
  }

  openChildren(runId: string): readonly RunHead[] {
    if (!this.#children.has(runId)) return NONE;
    return this.children(runId)
      .filter((memoryRun) => memoryRun.parent?.onClose === "cancel" && !isTerminal(memoryRun.head.status))
      .map((memoryRun) => memoryRun.head);
  }

  children(runId: string): MemoryRun[] {
    return [...this.#children.of(runId)];
  }

  claimable(query: ClaimableQuery): readonly RunHead[] {
    return this.queues.claimable(query).map((memoryRun) => memoryRun.head);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return [...this.#owned.of(worker)].slice(0, limit).map((memoryRun) => memoryRun.head);
  }

  ended({ id: only, before, statuses, limit }: EndedQuery): readonly RunHead[] {
    const heads: RunHead[] = [];
    const named = only === undefined ? undefined : this.#memoryRuns.get(only);
    const candidates = only === undefined ? this.#memoryRuns.values() : named === undefined ? [] : [named];
    for (const memoryRun of candidates) {
      const { endedAt, status, id } = memoryRun.head;
      if (endedAt === null || endedAt >= before || !statuses.includes(status)) continue;
      if (!this.#children.has(id) && !this.#isBelowOpen(memoryRun)) heads.push(memoryRun.head);
    }
    const rank = (head: RunHead): number => statuses.indexOf(head.status);
    heads.sort((left, right) => rank(left) - rank(right) || left.createdAt - right.createdAt || left.key - right.key);
    return heads.slice(0, limit);
  }

  remove(head: RunHead): void {
    const memoryRun = memoryRunOf(this.#memoryRuns, head);
    if (memoryRun.parent !== null) this.#children.remove(memoryRun.parent.runId, memoryRun);
    this.#memoryRuns.delete(head.id);
  }

  /** Whether an ancestor is open and has not called `continueAs` since it started the run below it. */
  #isBelowOpen(run: MemoryRun): boolean {
    for (let memoryRun = run; memoryRun.parent !== null; ) {
      const above = this.#memoryRuns.get(memoryRun.parent.runId);
      if (above === undefined || memoryRun.head.createdAt < (above.head.startedAt ?? 0)) return false;
      if (!isTerminal(above.head.status)) return true;
      memoryRun = above;
    }
    return false;
  }

  #save(head: RunHead): MemoryRun {
    const memoryRun = memoryRunOf(this.#memoryRuns, head);
    const before = memoryRun.head;
    memoryRun.head = head;
    if (before.owner !== head.owner) {
      if (before.owner !== null) this.#owned.remove(before.owner, memoryRun);
      if (head.owner !== null) this.#owned.add(head.owner, memoryRun);
    }
    this.queues.update(memoryRun);
    return memoryRun;
  }
}

export class MemoryJournalTable implements JournalTable {
  readonly #memoryRuns: MemoryRuns;

  constructor(memoryRuns: MemoryRuns) {
    this.#memoryRuns = memoryRuns;
  }

  newestSeq(head: RunHead): number {
    return newestSeq(memoryRunOf(this.#memoryRuns, head));
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    add(memoryRunOf(this.#memoryRuns, head), records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    const { journal } = memoryRunOf(this.#memoryRuns, head);
    for (const record of records) journal.push(record);
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const memoryRun = this.#memoryRuns.get(runId);
    const [first] = records;
    if (memoryRun === undefined || first === undefined) return false;
    const { head } = memoryRun;
    if (head.epoch !== epoch || isTerminal(head.status) || first.seq !== newestSeq(memoryRun) + 1) return false;
    add(memoryRun, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    memoryRunOf(this.#memoryRuns, head).journal.keep((seq) => seq > seqMax);
  }

  cutAfter(head: RunHead, seq: number): void {
    memoryRunOf(this.#memoryRuns, head).journal.keep((each) => each <= seq);
  }

  trim(head: RunHead, { from, to }: SeqRange): void {
    memoryRunOf(this.#memoryRuns, head).journal.trim(from, to);
  }
}

function newestSeq({ journal, head }: MemoryRun): number {
  return journal.newestSeq ?? head.baseSeq;
}

function add(memoryRun: MemoryRun, records: readonly JournalRecord[]): void {
  let newest = newestSeq(memoryRun);
  for (const record of records) {
    if (record.seq !== newest + 1)
      throw new Error(`record ${record.seq} of run ${memoryRun.head.id} does not follow ${newest}`);
    memoryRun.journal.push(record);
    newest = record.seq;
  }
}

export class MemoryInboxTable implements InboxTable {
  readonly #memoryRuns: MemoryRuns;

  constructor(memoryRuns: MemoryRuns) {
    this.#memoryRuns = memoryRuns;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = memoryRunOf(this.#memoryRuns, head);
    const key = knownKey(entry.kind, entry.id);
    if (known.has(key)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = memoryRunOf(this.#memoryRuns, head);
    const key = knownKey(entry.kind, entry.id);
    const had = known.get(key);
    if (had !== undefined && inbox.has(had.n)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return memoryRunOf(this.#memoryRuns, head).known.has(knownKey(kind, id));
  }

  take(head: RunHead, n: number): void {
    memoryRunOf(this.#memoryRuns, head).inbox.delete(n);
  }

  open(head: RunHead): readonly InboxEntry[] {
    return [...memoryRunOf(this.#memoryRuns, head).inbox.values()];
  }

  takeAll(head: RunHead): void {
    memoryRunOf(this.#memoryRuns, head).inbox.clear();
  }

  forgetBefore(before: number, limit: number): number {
    let forgotten = 0;
    for (const { inbox, known } of this.#memoryRuns.values()) {
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
    const { inbox, known } = memoryRunOf(this.#memoryRuns, head);
    inbox.clear();
    known.clear();
  }
}

/** Unique, because kinds contain no colon. */
function knownKey(kind: InboxEntry["kind"], id: string): string {
  return `${kind}:${id}`;
}

export class MemoryTopicTable implements TopicTable {
  readonly #memoryRuns: MemoryRuns;
  /** The sets are in order of subscription. */
  readonly #waiters = new SetsByName<MemoryRun>();

  constructor(memoryRuns: MemoryRuns) {
    this.#memoryRuns = memoryRuns;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const memoryRun = memoryRunOf(this.#memoryRuns, head);
    for (const topic of [...memoryRun.topics]) if (!topics.includes(topic)) this.#leave(memoryRun, topic);
    for (const topic of topics) {
      memoryRun.topics.add(topic);
      this.#waiters.add(topic, memoryRun);
    }
  }

  unsubscribe(head: RunHead): void {
    const memoryRun = memoryRunOf(this.#memoryRuns, head);
    for (const topic of [...memoryRun.topics]) this.#leave(memoryRun, topic);
  }

  longestWaiter(topic: string): RunHead | null {
    for (const memoryRun of this.#waiters.of(topic)) return memoryRun.head;
    return null;
  }

  waiters(topic: string): readonly RunHead[] {
    return Array.from(this.#waiters.of(topic), (memoryRun) => memoryRun.head);
  }

  seen(head: RunHead, topic: string): number {
    return memoryRunOf(this.#memoryRuns, head).topicSeen.get(topic) ?? 0;
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    memoryRunOf(this.#memoryRuns, head).topicSeen.set(topic, n);
  }

  forgetSeen(head: RunHead): void {
    memoryRunOf(this.#memoryRuns, head).topicSeen.clear();
  }

  #leave(memoryRun: MemoryRun, topic: string): void {
    memoryRun.topics.delete(topic);
    this.#waiters.remove(topic, memoryRun);
  }
}
