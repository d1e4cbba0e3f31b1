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
 * The rows of a store, as small synchronous operations. `apply*.ts` defines once, over this interface, what a transition does. A store
 * that reaches its rows synchronously implements it, and so behaves like every other store.
 *
 * 1. All calls of one commit happen inside one transaction: they commit together or leave no trace.
 * 2. Methods check nothing. The rules that call them do.
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
  /** Runs a transition's code with a transaction on the user's own rows. Its writes are kept only if it returned. */
  transact(code: InTransaction): TransactionEnd;
}

/** The part of a run's row that decisions need. Small, because input and outcome are not in it. */
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
  /** The store's own number of the run. */
  readonly key: number;
  /** Id of the last control call that took the run over. */
  readonly controlId: string | null;
  /** How many topics the run is subscribed to. */
  readonly topics: number;
}

/** A head while it is changed. */
export type HeadDraft = { -readonly [Field in keyof RunHead]: RunHead[Field] };

/** The posts that a run waits for. */
export type AwaitedPosts = Pick<Wait, "messages" | "children">;

export interface RunTable {
  head(runId: string): RunHead | null;
  get(runId: string): Run | null;
  /** The messages and children that the run waits for. Its topics are in `TopicTable`. */
  wait(head: RunHead): AwaitedPosts | null;
  /** Inserts the run and sets the head's key. False, without an insert, if a run has this id. */
  insert(run: NewRun, head: HeadDraft): boolean;
  /** Writes status, epoch, turn, owner, claims and due time. Keeps wait and outcome. */
  saveOwner(head: RunHead): void;
  /** Writes only the number of the newest inbox entry. */
  saveInbox(head: RunHead): void;
  /** Writes what an awaited post changes: newest inbox entry, due time, number of topics. */
  saveReady(head: RunHead): void;
  /** Writes only whether there is something to undo. */
  saveUndo(head: RunHead): void;
  saveWait(head: RunHead, wait: Wait | null): void;
  /** Writes the head and the outcome. Removes the wait. */
  saveOutcome(head: RunHead, outcome: Payload): void;
  /** Writes only the version. */
  saveVersion(head: RunHead): void;
  /** Writes the head and the input of the next generation. Removes the wait. */
  saveProgram(head: RunHead, program: Pick<Run, "input">): void;
  /** Writes the head and the facts of another start: time, start id, tags, limits, workflow, version and input. */
  saveStart(head: RunHead, run: NewRun): void;
  /** Open children that are cancelled when their parent ends, oldest first. */
  openChildren(runId: string): readonly RunHead[];
  /** Runs of these workflows that are due at `now` and have no owner. */
  claimable(query: ClaimableQuery): readonly RunHead[];
  ownedBy(worker: string, limit: number): readonly RunHead[];
  /**
   * Terminal runs that may be deleted, oldest first: they have no child, and no open ancestor. An ancestor that was continued since it
   * started the run does not count, because its journal does not refer to the run any more.
   */
  ended(query: EndedQuery): readonly RunHead[];
  remove(head: RunHead): void;
}

export interface ClaimableQuery {
  readonly workflows: readonly WorkflowRef[];
  readonly now: number;
  readonly limit: number;
  /** True returns the runs due for the shortest time first, false those due for the longest. */
  readonly newestFirst: boolean;
}

export interface EndedQuery {
  /** Only this run. */
  readonly id?: string;
  readonly before: number;
  readonly statuses: readonly Status[];
  readonly limit: number;
}

export interface JournalTable {
  /** The base seq if there is no record. */
  newestSeq(head: RunHead): number;
  /** Throws if the first record does not follow the newest one. That is a bug of the caller. */
  append(head: RunHead, records: readonly JournalRecord[]): void;
  /** Inserts the records of an imported run, which has none yet. Their seqs grow, and may have gaps. */
  fill(head: RunHead, records: readonly JournalRecord[]): void;
  /** Appends if the run exists, is open, has this epoch and none of these records. Otherwise false, without a write. */
  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean;
  /** Deletes the records up to this seq. */
  cut(head: RunHead, seqMax: number): void;
  /** Deletes the records after this seq. */
  cutAfter(head: RunHead, seq: number): void;
  /** Deletes these records. The newest one is never among them. */
  trim(head: RunHead, range: SeqRange): void;
}

export interface InboxTable {
  /** False, without an insert, if the run has or had an entry of this kind and id. */
  add(head: RunHead, entry: InboxEntry): boolean;
  /** Like `add`, but also inserts an entry that the run has already received. False if the entry is in the inbox. */
  restore(head: RunHead, entry: InboxEntry): boolean;
  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean;
  /** Deletes the entry. Its id stays known. */
  take(head: RunHead, n: number): void;
  /** Entries not received yet, in order of arrival. */
  open(head: RunHead): readonly InboxEntry[];
  takeAll(head: RunHead): void;
  /** Deletes ids of entries received before this time. Returns how many. */
  forgetBefore(before: number, limit: number): number;
  removeAll(head: RunHead): void;
}

export interface TopicTable {
  /** Makes these the topics that the run is subscribed to. Topics that stay keep their position among the waiters. */
  subscribe(head: RunHead, topics: readonly string[]): void;
  unsubscribe(head: RunHead): void;
  longestWaiter(topic: string): RunHead | null;
  /** The longest waiter first. */
  waiters(topic: string): readonly RunHead[];
  /** Number of the newest event with `consume: "all"` that the run received on this topic. 0 if none. */
  seen(head: RunHead, topic: string): number;
  setSeen(head: RunHead, topic: string, n: number): void;
  forgetSeen(head: RunHead): void;
}

export interface EventRow {
  /** In the order of arrival. Never reused. */
  readonly n: number;
  readonly id: string;
  readonly topic: string;
  /** Null once no run can receive the event any more. */
  readonly value: Payload;
  readonly at: number;
  readonly expireAt: number;
  readonly deliver: DeliverPolicy;
  readonly consume: ConsumePolicy;
  readonly pendingMax: number;
  /** Whether a run that subscribes later may receive it. Other events are kept only to recognise their ids. */
  readonly pending: boolean;
  /** Whether a run received it, or has it in its inbox. */
  readonly received: boolean;
  /** The run whose inbox has an event with `consume: "one"`. */
  readonly holder: string | null;
}

export interface DeliverableQuery {
  readonly topic: string;
  readonly consume: ConsumePolicy;
  readonly afterN: number;
  /** Events that have expired at this time are skipped. */
  readonly now: number;
  /** Events with `deliver: "afterCreate"` from before this time are skipped. */
  readonly createdAt: number;
}

export interface EventTable {
  get(id: string): EventRow | null;
  insert(event: Omit<EventRow, "n">): EventRow;
  save(event: EventRow): void;
  remove(event: EventRow): void;
  /** The oldest pending event of the topic that a run of this age may receive. */
  oldestDeliverable(query: DeliverableQuery): EventRow | null;
  oldestPending(topic: string): EventRow | null;
  /** Changes the number of pending events of a topic. Returns the new number. */
  countPending(topic: string, change: 1 | -1): number;
  expired(now: number, limit: number): readonly EventRow[];
  /** Deletes events from before this time that are neither pending nor in an inbox. Returns how many. */
  removeBefore(before: number, limit: number): number;
}

/** A dead letter, with the id of its message or event. */
export interface LetterRow extends DeadLetter {
  readonly postId: string;
}

export interface LetterTable {
  get(id: string): LetterRow | null;
  /** Does nothing if a letter has this id. */
  insert(letter: LetterRow): void;
  remove(id: string): void;
  /** Deletes letters from before this time, oldest first. Returns how many. */
  removeBefore(before: number, limit: number): number;
}

export interface DocumentTable {
  get(kind: string, id: string): StoredDocument | null;
  put(document: StoredDocument): void;
  /** Does nothing if a document has this kind and id. */
  create(document: StoredDocument): void;
  /** Does nothing if no document has this kind and id. */
  mark(kind: string, id: string, attributes: DocumentAttributes): void;
  /** Cancels the run's open documents. */
  closeOf(runId: string): void;
  /** Replaces `seen`, which `get` has just returned, by `document`. */
  revise(seen: StoredDocument | null, document: StoredDocument): void;
  remove(kind: string, id: string): void;
  removeOf(runId: string): void;
}

export interface WorkerTable {
  expiresAt(worker: string): number | null;
  /** Keeps the stored workflows if `workflows` is omitted. */
  save(worker: string, expiresAt: number, workflows?: readonly WorkflowRef[]): void;
  remove(worker: string): void;
  /** Workers whose lease has expired at `now`, the longest expired first. */
  dead(now: number, limit: number): readonly string[];
}

export interface ClaimRequest {
  readonly worker: string;
  readonly limit: number;
  readonly workflows: readonly WorkflowRef[];
  /** Claims the runs that became due last first. Default: the longest due first. */
  readonly newestFirst?: boolean;
  /** How many suspects to claim. Default: suspects are claimed like other runs. */
  readonly suspects?: SuspectLimit;
}

/**
 * Limits the claim of suspects: runs that lost their worker `claims` or more times without progress, so they may have crashed it. Suspects
 * that a worker executes together are a group. A claim in a group of several does not count against a run. A suspect that lost its worker
 * more than `claims` times was then the only suspect: it is a *lone suspect*, and claimed alone.
 */
export interface SuspectLimit {
  /** At least 2, or 1 if `max` is 0. */
  readonly claims: number;
  /** How many suspects the worker executes already. */
  readonly held: number;
  /** How many more it may execute. Null for half of those that were freed at the same moment as the one that is due first. */
  readonly max: number | null;
  /** Whether the worker executes no run, and starts none until the claim has returned. Lone suspects are skipped if not, or if `max` is set. */
  readonly idle: boolean;
}

/** A run that a worker has claimed. */
export interface ClaimedRun extends Run {
  readonly isSuspect: boolean;
}

export interface Heartbeat {
  /** False if the lease had expired: runs of the worker may have been freed, and claimed by others. The worker is registered again. */
  readonly alive: boolean;
  /** How many runs of expired workers were freed. */
  readonly freed: number;
  /** Like `ownedRunning`. */
  readonly owned: readonly OwnedRun[];
  /** Like `nextDueAt`, for the `workflows` of this call. */
  readonly nextDueAt: number | null;
  /** When the next lease of another worker expires. A time in the past means that more of its runs are to be freed. */
  readonly nextExpiryAt: number | null;
}

/** A `running` run of a worker. */
export interface OwnedRun {
  readonly id: string;
  readonly epoch: number;
}

/** A run that a worker was executing when its lease expired. */
export interface LapsedRun extends OwnedRun {
  /** Whether another run of the worker made it miss its heartbeats. A claim since then does not count against this run. */
  readonly isBlameless: boolean;
}

export interface PruneRequest {
  /**
   * Deletes terminal runs that ended before this time, with journal, inbox and documents. Null deletes none. A run stays while it has a
   * child, or an open ancestor. An ancestor that was continued since it started the run does not count.
   */
  readonly runsEndedBefore: number | null;
  /** Deletes only this run, and no row of another kind: the other limits must be null. */
  readonly runId?: string;
  /** Deletes only runs with these statuses. Default: all terminal ones. */
  readonly statuses?: readonly Status[];
  /** Deletes the ids of entries and events received before this time; repeats of them are no longer duplicates. Null deletes none. */
  readonly receivedBefore: number | null;
  /** Deletes dead letters from before this time. Null or omitted deletes none. */
  readonly lettersBefore?: number | null;
  readonly limit: number;
}

export interface Pruned {
  readonly runs: number;
  readonly entries: number;
  /** Expired events, which are dead letters now. */
  readonly expired: number;
  readonly letters: number;
  /** False if there was more than `limit`. */
  readonly done: boolean;
}
