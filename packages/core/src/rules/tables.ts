import type { DeadLetter, InboxEntry } from "../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../model/record.ts";
import type { NewRun, Payload, Run, Status, Wait } from "../model/run.ts";
import type {
  ConsumePolicy,
  DeliverPolicy,
  DocumentAttributes,
  InTransaction,
  StoredDocument,
} from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { TransactionEnd } from "./transaction-scope.ts";

/**
 * The rows of a store, one small synchronous step at a time. What a transition means is written once, in `apply*.ts`, over
 * this interface; a store that reaches its rows without waiting implements it, and thereby behaves like every other.
 *
 * 1. All calls of one commit happen inside one transaction: they stay together or leave no trace.
 * 2. A method does one thing and asks for no reason; guards are in the code that calls it.
 */
export interface Tables {
  readonly runs: RunTable;
  readonly journal: JournalTable;
  readonly inbox: InboxTable;
  readonly topics: TopicTable;
  readonly events: EventTable;
  readonly letters: LetterTable;
  readonly documents: DocumentTable;
  readonly workers: WorkerTable;
  /** Runs a transition's code with a transaction on the user's own rows. What it did there stays only if it returned. */
  transact(code: InTransaction): TransactionEnd;
}

/** The part of a run's row that decides: small, whatever the size of its input and outcome. */
export interface RunHead
  extends Pick<
    Run,
    | "id"
    | "workflow"
    | "version"
    | "startId"
    | "createdAt"
    | "status"
    | "epoch"
    | "turn"
    | "owner"
    | "wakeAt"
    | "inboxLast"
    | "baseSeq"
    | "generation"
    | "claims"
    | "claimSeq"
    | "startedAt"
    | "endedAt"
    | "undo"
  > {
  /** The store's own number for the run. */
  readonly key: number;
  /** The last call from outside that took the run over. */
  readonly controlId: string | null;
  /** How many topics the run is subscribed to. */
  readonly topics: number;
}

/** A head that is being changed. */
export type HeadDraft = { -readonly [Field in keyof RunHead]: RunHead[Field] };

/** The posts that a run waits for. */
export type AwaitedPosts = Pick<Wait, "messages" | "children">;

export interface RunTable {
  head(runId: string): RunHead | null;
  get(runId: string): Run | null;
  /** What the row says the run waits for, as far as a post asks; its topics are in a table of their own. */
  wait(head: RunHead): AwaitedPosts | null;
  /** Gives the head its key. False, and nothing is added, when a run has this id. */
  insert(run: NewRun, head: HeadDraft): boolean;
  /** Writes who owns the run and when it is due: status, epoch, turn, owner, claims; wait and outcome stay. */
  saveOwner(head: RunHead): void;
  /** Writes the inbox's number, and nothing else. */
  saveInbox(head: RunHead): void;
  /** Writes what a post that is waited for changes: the inbox's number, when the run is due, the number of its topics. */
  saveReady(head: RunHead): void;
  /** Writes what there is to undo, and nothing else. */
  saveUndo(head: RunHead): void;
  saveWait(head: RunHead, wait: Wait | null): void;
  /** Writes the head and the outcome; the wait goes. */
  saveOutcome(head: RunHead, outcome: Payload): void;
  /** Writes the version, and nothing else. */
  saveVersion(head: RunHead): void;
  /** Writes the head and what the run is from here on; the wait goes. */
  saveProgram(head: RunHead, program: Pick<Run, "input">): void;
  /** Children that are not terminal and are to be cancelled when their parent ends, the oldest first. */
  openChildren(runId: string): readonly RunHead[];
  /** Due at `now`, unowned, of these workflows. */
  claimable(query: ClaimableQuery): readonly RunHead[];
  ownedBy(worker: string, limit: number): readonly RunHead[];
  /**
   * Terminal runs that may go: no child is there still, and no run above is open, unless that one has been continued since the
   * run below it was made. By status as asked, the oldest first.
   */
  ended(query: EndedQuery): readonly RunHead[];
  remove(head: RunHead): void;
}

export interface ClaimableQuery {
  readonly workflows: readonly WorkflowRef[];
  readonly now: number;
  readonly limit: number;
  /** Whether those that are due for the shortest time come first, or for the longest. */
  readonly newestFirst: boolean;
}

export interface EndedQuery {
  readonly before: number;
  readonly statuses: readonly Status[];
  readonly limit: number;
}

export interface JournalTable {
  /** The base when there is no record. */
  newestSeq(head: RunHead): number;
  /** Throws when the first does not follow the newest: whoever sends that is wrong. */
  append(head: RunHead, records: readonly JournalRecord[]): void;
  /** The records of a run that has none: of one that was elsewhere before. Their seqs grow, and may have gaps. */
  fill(head: RunHead, records: readonly JournalRecord[]): void;
  /** Appends if the run is there, is not terminal, has this epoch and none of these records; else false, and no trace. */
  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean;
  /** Removes the records up to this seq. */
  cut(head: RunHead, seqMax: number): void;
  /** Removes the records after this seq. */
  cutAfter(head: RunHead, seq: number): void;
  /** Removes these records; the newest is never among them. */
  trim(head: RunHead, range: SeqRange): void;
}

export interface InboxTable {
  /** False, and nothing is added, when the run has had an entry of this kind and id. */
  add(head: RunHead, entry: InboxEntry): boolean;
  /** As `add`, also for what the run has had and taken; false, and nothing is added, when it lies there. */
  restore(head: RunHead, entry: InboxEntry): boolean;
  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean;
  /** The entry is gone, its id is known still. */
  take(head: RunHead, n: number): void;
  /** What has not been received, in order of arrival. */
  open(head: RunHead): readonly InboxEntry[];
  takeAll(head: RunHead): void;
  /** Forgets ids of received entries from before this; says how many. */
  forgetBefore(before: number, limit: number): number;
  removeAll(head: RunHead): void;
}

export interface TopicTable {
  /** Makes the topics that the run is subscribed to exactly these; those that stay keep their place. */
  subscribe(head: RunHead, topics: readonly string[]): void;
  unsubscribe(head: RunHead): void;
  longestWaiter(topic: string): RunHead | null;
  /** The longest waiter first. */
  waiters(topic: string): readonly RunHead[];
  /** The newest event with `consume: "all"` that the run has had of this topic; 0: none. */
  seen(head: RunHead, topic: string): number;
  setSeen(head: RunHead, topic: string, n: number): void;
  forgetSeen(head: RunHead): void;
}

export interface EventRow {
  /** In the order in which the store got them; never used twice. */
  readonly n: number;
  readonly id: string;
  readonly topic: string;
  /** Null once nobody can get it from here. */
  readonly value: Payload;
  readonly at: number;
  readonly expireAt: number;
  readonly deliver: DeliverPolicy;
  readonly consume: ConsumePolicy;
  readonly pendingMax: number;
  /** Whether a run that subscribes later may get it. What is not pending is kept to know the id again. */
  readonly pending: boolean;
  /** Whether some run has it or had it. */
  readonly received: boolean;
  /** The run whose inbox got an event with `consume: "one"`. */
  readonly holder: string | null;
}

export interface DeliverableQuery {
  readonly topic: string;
  readonly consume: ConsumePolicy;
  readonly afterN: number;
  /** Events that are over at this time are passed by. */
  readonly now: number;
  /** Events with `deliver: "afterCreate"` from before this are passed by. */
  readonly createdAt: number;
}

export interface EventTable {
  get(id: string): EventRow | null;
  insert(event: Omit<EventRow, "n">): EventRow;
  save(event: EventRow): void;
  remove(event: EventRow): void;
  /** The oldest pending event of the topic that a run of this age may get. */
  oldestDeliverable(query: DeliverableQuery): EventRow | null;
  oldestPending(topic: string): EventRow | null;
  /** Adds to the number of pending events of a topic, and says what it is then. */
  countPending(topic: string, change: 1 | -1): number;
  expired(now: number, limit: number): readonly EventRow[];
  /** Removes events from before this that are neither pending nor in an inbox; says how many. */
  removeBefore(before: number, limit: number): number;
}

/** A dead letter, and the id that its message or event had. */
export interface LetterRow extends DeadLetter {
  readonly postId: string;
}

export interface LetterTable {
  get(id: string): LetterRow | null;
  /** Nothing happens when there is one with this id. */
  insert(letter: LetterRow): void;
  remove(id: string): void;
  /** Removes those from before this, the oldest first; says how many. */
  removeBefore(before: number, limit: number): number;
}

export interface DocumentTable {
  get(kind: string, id: string): StoredDocument | null;
  put(document: StoredDocument): void;
  /** Nothing happens when there is one of this kind and id. */
  create(document: StoredDocument): void;
  /** Nothing happens when there is none of this kind and id. */
  mark(kind: string, id: string, attributes: DocumentAttributes): void;
  /** A run's documents that are open are cancelled. */
  closeOf(runId: string): void;
  /** Puts `document` where `seen` was, which `get` has just told. */
  revise(seen: StoredDocument | null, document: StoredDocument): void;
  remove(kind: string, id: string): void;
  removeOf(runId: string): void;
}

export interface WorkerTable {
  expiresAt(worker: string): number | null;
  /** `workflows` left out: they stay as they were. */
  save(worker: string, expiresAt: number, workflows?: readonly WorkflowRef[]): void;
  remove(worker: string): void;
  /** Workers whose time was over at `now`, the longest dead first. */
  dead(now: number, limit: number): readonly string[];
}

export interface ClaimRequest {
  readonly worker: string;
  readonly limit: number;
  readonly workflows: readonly WorkflowRef[];
  /** The shortest due first: where many are due, those that became so a moment ago. Left out: the longest due first. */
  readonly newestFirst?: boolean;
  /** Of runs that were claimed at least `claims` times without progress, at most `max` are given. Left out: as any other. */
  readonly suspects?: { readonly claims: number; readonly max: number };
}

export interface Heartbeat {
  /** False: others took this worker for dead and its runs may have been freed, some or all of them. It is registered anew. */
  readonly alive: boolean;
  /** How many runs of dead workers were freed. */
  readonly freed: number;
  /** As `held`. */
  readonly owned: readonly OwnedRun[];
  /** As `nextDueAt`, of the `workflows` of this call. */
  readonly nextDueAt: number | null;
  /** When the first of the other workers is taken for dead if it says nothing. Past: one is, and more of its runs are to be freed. */
  readonly nextExpiryAt: number | null;
}

/** A run that a worker owns and that is `running`. */
export interface OwnedRun {
  readonly id: string;
  readonly epoch: number;
}

export interface PruneRequest {
  /**
   * Terminal runs that ended before this go, with their journal, inbox and documents. Null: none. A run stays while a run below
   * it is there, and while a run above it is open, unless that one has been continued since: its journal tells of it no more.
   */
  readonly runsEndedBefore: number | null;
  /** Only runs of these statuses; all terminal ones when left out. */
  readonly statuses?: readonly Status[];
  /** Received inbox entries and events from before this go: no duplicate of them is recognised any more. Null: none. */
  readonly receivedBefore: number | null;
  /** Dead letters from before this go. Null, or left out: none. */
  readonly lettersBefore?: number | null;
  readonly limit: number;
}

export interface Pruned {
  readonly runs: number;
  readonly entries: number;
  /** Events whose time was over: they are dead letters now. */
  readonly expired: number;
  readonly letters: number;
  /** False: there was more than `limit`. */
  readonly done: boolean;
}
