import type { ChildEndStatus, InboxEntry, LeftoverPolicy } from "./inbox.ts";
import type { JournalRecord, NewRecord, SeqRange } from "./record.ts";
import type { NewRun, Payload, Status, TerminalStatus, Undo, Wait } from "./run.ts";

/** Whom an event that nobody waits for is kept for. */
export type DeliverPolicy = "afterWait" | "afterCreate" | "all";
export type ConsumePolicy = "one" | "all";

export interface MessagePost {
  readonly kind: "message";
  readonly to: string;
  /** Unique in the target's inbox: the same id again is a duplicate. */
  readonly id: string;
  readonly name: string;
  readonly value: Payload;
  readonly at: number;
  readonly onTargetTerminated: LeftoverPolicy;
  /** The run that sends it, or null for a caller from outside. What a run can't deliver becomes a dead letter. */
  readonly from: string | null;
}

export interface EventPost {
  readonly kind: "event";
  readonly topic: string;
  /** Unique among events: the same id again is a duplicate. */
  readonly id: string;
  readonly value: Payload;
  readonly at: number;
  readonly expireAt: number;
  readonly deliver: DeliverPolicy;
  readonly consume: ConsumePolicy;
  /** How many events may be pending on the topic; the oldest beyond it become dead letters. */
  readonly pendingMax: number;
}

/** What a run that does not begin at its beginning has from the start. */
export interface RunHistory {
  readonly records: readonly NewRecord[];
  readonly inbox: ReadonlyArray<Omit<InboxEntry, "n">>;
  readonly undo: Undo;
  /** Of a run that was elsewhere before. Left out: its life begins here. */
  readonly life?: RunLife;
}

/** How far a run had come where it was before. */
export interface RunLife {
  readonly startedAt: number | null;
  readonly generation: number;
  readonly baseSeq: number;
  /** Of its records, growing: a loop may have dropped some between them. */
  readonly seqs: readonly number[];
}

/** A run's word to other runs, applied in the same commit as its own transition. */
export type Post =
  | MessagePost
  | EventPost
  /** Starts a run if there is none with this id. */
  | { readonly kind: "start"; readonly run: NewRun; readonly history?: RunHistory }
  /** Tells the parent that the child it started at `location` has ended. */
  | {
      readonly kind: "childEnd";
      readonly to: string;
      readonly location: string;
      readonly child: string;
      readonly status: ChildEndStatus;
      readonly outcome: Payload;
      readonly at: number;
    }
  /** Asks a run to cancel itself. */
  | { readonly kind: "cancel"; readonly to: string; readonly id: string; readonly reason: Payload; readonly at: number }
  /** Asks every open child of the run, whose policy says so, to cancel itself. */
  | { readonly kind: "closeChildren"; readonly of: string; readonly reason: Payload; readonly at: number };

/** What an owner, or one who takes a run over, makes of its row. */
export type RunState =
  /** Goes on; `wait` is set where some branch waits while another works. */
  | { readonly status: "running"; readonly wait: Wait | null; readonly inboxSeen: number }
  /** Rests until a post matches or the deadline comes. Ready at once if the inbox holds more than `inboxSeen`. */
  | { readonly status: "suspended"; readonly wait: Wait; readonly inboxSeen: number }
  /** Given back in the middle of work: any worker may claim it now. */
  | { readonly status: "released"; readonly at: number }
  /** Stopped by an operator or by a divergence; `reason` says why. */
  | { readonly status: "paused"; readonly reason: Payload }
  /** From outside: the program is stopped, a record says why, and whoever claims the run undoes what it has done. */
  | { readonly status: "compensating"; readonly reason: Payload; readonly at: number }
  /** Claimable again after a pause. */
  | { readonly status: "resumed"; readonly at: number }
  /** Claimable again, ended or not, after an operator has changed its journal; `version` null: as it was. */
  | { readonly status: "reopened"; readonly at: number; readonly version: number | null; readonly undo: Undo }
  /** The same run, from the start, with another input: the journal is cut, the inbox stays. */
  | {
      readonly status: "continued";
      readonly workflow: string;
      readonly version: number;
      readonly input: Payload;
      readonly baseSeq: number;
      readonly at: number;
    }
  /** The end. Its waits and subscriptions go with it, and its inbox is cleared by each message's own policy. */
  | { readonly status: TerminalStatus; readonly outcome: Payload; readonly at: number };

/** Something kept beside the runs: human tasks, deployments, schedules, snapshots. */
export interface StoredDocument {
  readonly kind: string;
  readonly id: string;
  /** The run it belongs to: it goes when the run's rows go. */
  readonly runId: string | null;
  readonly body: Payload;
  /**
   * At most four, indexed by store: `a` to `d`, meaning given by the kind. Only `d` means something to stores: a run's documents
   * that are `open` are `cancelled` in the commit in which the run fails, is cancelled, or is sent another way by an operator.
   */
  readonly attributes: DocumentAttributes;
}

export type DocumentAttributes = { readonly [name in "a" | "b" | "c" | "d"]?: string };

/** What documents of a run are while the run still may end them, and what the store makes of those when it can't any more. */
export const OPEN_DOCUMENT = "open";
export const CANCELLED_DOCUMENT = "cancelled";

export type DocumentChange =
  | { readonly put: StoredDocument }
  /** Put if there is none of this kind and id; else nothing happens. */
  | { readonly create: StoredDocument }
  /** These attributes are set; the others, and the body, stay. If there is no such document, nothing happens. */
  | { readonly mark: { readonly kind: string; readonly id: string; readonly attributes: DocumentAttributes } }
  | { readonly remove: { readonly kind: string; readonly id: string } };

/** What one who takes a run over makes of its journal and its inbox. */
export interface JournalChange {
  /** What the decision rests on: refused if the newest seq or the status is another. Null: whatever they are. */
  readonly seen: { readonly seq: number; readonly status: Status } | null;
  /** Records after this seq go, and with them the snapshot; null: none goes. */
  readonly cutAfter: number | null;
  /** Added after what is left. */
  readonly add: readonly NewRecord[];
  /** Received in what is cut: laid into the inbox again, before what lies there, unless it lies there itself. */
  readonly restore: ReadonlyArray<Omit<InboxEntry, "n">>;
}
/**
 * The one part of a transition that is code. The store calls it inside its own transaction, with that transaction, when the
 * guards have passed and before the records are written: it completes them. If it throws, the transition is refused and
 * leaves no trace. It is called again where the batch is sent again and had not been applied.
 */
export type InTransaction = (tx: unknown) => void | Promise<void>;

/** What the owner of a run adds to it. Guard: the run is not terminal and has this epoch. */
export interface Append {
  readonly kind: "append";
  readonly runId: string;
  readonly epoch: number;
  /** The row's turn after this transition, one more than before; of no meaning when `state` is null. */
  readonly turn: number;
  /** Consecutive; the first follows the newest record of the run. */
  readonly records: readonly JournalRecord[];
  /** Records that nobody will ask for any more: rounds of a loop whose state these records keep. Never the newest. */
  readonly trim: readonly SeqRange[];
  /** Numbers of inbox entries that these records received. */
  readonly taken: readonly number[];
  readonly posts: readonly Post[];
  readonly documents: readonly DocumentChange[];
  /** Null: the row does not change. */
  readonly state: RunState | null;
  /** Null: as it was. */
  readonly undo: Undo | null;
  /** Set when the decision rests on the inbox: refused if the inbox has moved on. */
  readonly inbox: number | null;
  /** Set when the decision rests on a deadline: refused before it, by the store's clock. */
  readonly notBefore: number | null;
  /** Code that belongs to the transition; null: it is data alone. */
  readonly transaction: InTransaction | null;
}

/** The empty list of every empty append: comparing with it tells whether a list has an owner yet. */
export const NO_ITEMS: readonly never[] = [];

/** An append that changes nothing yet. */
export function emptyAppend(runId: string, epoch: number): Append {
  return {
    kind: "append",
    runId,
    epoch,
    turn: 0,
    records: NO_ITEMS,
    trim: NO_ITEMS,
    taken: NO_ITEMS,
    posts: NO_ITEMS,
    documents: NO_ITEMS,
    state: null,
    undo: null,
    inbox: null,
    notBefore: null,
    transaction: null,
  };
}

/** What a store applies, or refuses, as a whole. */
export type Transition =
  /** Guard: no run has this id. */
  | { readonly kind: "create"; readonly run: NewRun; readonly history?: RunHistory }
  | Append
  /**
   * From outside; raises the epoch, so the owner is fenced. Guard: the run has this epoch and is not terminal; only `reopened`
   * may be made of a terminal one.
   */
  | {
      readonly kind: "control";
      readonly runId: string;
      readonly epoch: number;
      readonly state: RunState;
      readonly posts: readonly Post[];
      /** Set when the decision rests on what the run has to undo: refused as fenced if that has changed. */
      readonly undo: Undo | null;
      /** Null: the journal stays as it is. */
      readonly journal: JournalChange | null;
      /** Says which call it is, so that the same call sent twice gets the same answer. */
      readonly controlId: string;
    }
  /** From outside, to a run or a topic. No guard: a post always has an answer. */
  | { readonly kind: "post"; readonly post: MessagePost | EventPost | Extract<Post, { kind: "cancel" }> }
  /** Takes a dead letter away and, unless `post` is null, posts it again. Guard: the letter is there. */
  | { readonly kind: "letter"; readonly letterId: string; readonly post: MessagePost | EventPost | null }
  /** Documents alone. */
  | { readonly kind: "documents"; readonly documents: readonly DocumentChange[] }
  /**
   * One document takes the place of what was read; null: of nothing. Guard: it still is what was read, and the run that the post
   * is for, which is the document's own if that has one, has not ended.
   */
  | {
      readonly kind: "revise";
      readonly seen: StoredDocument | null;
      readonly document: StoredDocument;
      readonly post: MessagePost | null;
    };

export type PostAnswer =
  /** `runs` were waiting and have it. */
  | { readonly kind: "delivered"; readonly runs: number }
  | { readonly kind: "queued" }
  | { readonly kind: "dropped" }
  | { readonly kind: "duplicate" }
  | { readonly kind: "targetNotFound" }
  | { readonly kind: "targetTerminated"; readonly status: TerminalStatus };

export type Refusal =
  /** create: the id is taken, by another call. */
  | { readonly reason: "exists"; readonly status: Status; readonly epoch: number }
  | { readonly reason: "notFound" }
  | { readonly reason: "terminal"; readonly status: TerminalStatus }
  /** The run has another epoch: the writer owns it no longer. */
  | { readonly reason: "fenced"; readonly epoch: number }
  /** The journal has moved on since the decision, or the run has another status. */
  | { readonly reason: "moved"; readonly seq: number; readonly status: Status }
  /** The document is not any more what was read. */
  | { readonly reason: "changed" }
  /** The inbox has moved on since the decision. */
  | { readonly reason: "inbox"; readonly inboxLast: number }
  /** The deadline has not come by the store's clock. */
  | { readonly reason: "early"; readonly now: number }
  /** Its code threw, or the store can't call it. */
  | { readonly reason: "threw"; readonly error: unknown };

export type Answer =
  /** `post` answers a `post` or `letter`; `again` says that the same transition had been applied before. */
  | { readonly kind: "applied"; readonly post: PostAnswer | null; readonly again: boolean }
  | ({ readonly kind: "refused" } & Refusal);

/** A run that has become ready in a commit. */
export interface Wake {
  readonly runId: string;
  readonly owner: string | null;
  readonly epoch: number;
  /** What this commit laid into its inbox, oldest first; a hot session that has seen all before it needs no more. Null: it has to be read. */
  readonly entries: readonly InboxEntry[] | null;
}

/** The run that is at its end once this is applied; null: none is. */
export function endedBy(transition: Transition): string | null {
  if (transition.kind !== "append" && transition.kind !== "control") return null;
  const status = transition.state?.status;
  return status === "completed" || status === "failed" || status === "cancelled" ? transition.runId : null;
}
