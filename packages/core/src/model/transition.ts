import type { ChildEndStatus, InboxEntry, LeftoverPolicy } from "./inbox.ts";
import type { JournalRecord, NewRecord, SeqRange, Stop } from "./record.ts";
import type { NewRun, Payload, Status, TerminalStatus, Undo, Wait } from "./run.ts";

/** Which later waiters may receive an event that no run waited for when it was emitted. */
export type DeliverPolicy = "afterWait" | "afterCreate" | "all";
export type ConsumePolicy = "one" | "all";

export interface MessagePost {
  readonly kind: "message";
  readonly to: string;
  /** Unique in the target's inbox. A second post with the same id is a duplicate. */
  readonly id: string;
  readonly name: string;
  readonly value: Payload;
  readonly at: number;
  readonly onTargetTerminated: LeftoverPolicy;
  /** The sending run. Null for a caller outside a run. A run's message that cannot be delivered becomes a dead letter. */
  readonly from: string | null;
}

export interface EventPost {
  readonly kind: "event";
  readonly topic: string;
  /** Unique among events. A second event with the same id is a duplicate. */
  readonly id: string;
  readonly value: Payload;
  readonly at: number;
  readonly expireAt: number;
  readonly deliver: DeliverPolicy;
  readonly consume: ConsumePolicy;
  /** Maximum number of pending events on the topic. The oldest excess events become dead letters. */
  readonly pendingMax: number;
}

/** The history that a run is created with: of a fork, or of a run from another store. */
export interface RunHistory {
  readonly records: readonly NewRecord[];
  readonly inbox: ReadonlyArray<Omit<InboxEntry, "n">>;
  readonly undo: Undo;
  /** Set for a run from another store. Omitted if the run starts here. */
  readonly life?: RunLife;
}

/** The progress of a run in the store that it came from. */
export interface RunLife {
  readonly startedAt: number | null;
  readonly generation: number;
  readonly baseSeq: number;
  /** The seqs of its records, ascending. A loop may have removed records between them. */
  readonly seqs: readonly number[];
  /** Set if the run is created as an ended one: it keeps what an ended run did, and is never executed. */
  readonly end?: { readonly status: TerminalStatus; readonly outcome: Payload; readonly at: number };
}

/** A change that a transition requests of another run. Applied in the same commit. */
export type Post =
  | MessagePost
  | EventPost
  /** Starts a run, unless a run with this id exists. */
  | { readonly kind: "start"; readonly run: NewRun; readonly history?: RunHistory }
  /** Notifies the parent that the child started at `location` has ended. */
  | {
      readonly kind: "childEnd";
      readonly to: string;
      readonly location: string;
      readonly child: string;
      readonly status: ChildEndStatus;
      readonly outcome: Payload;
      readonly at: number;
    }
  /** Requests that a run cancel itself. */
  | { readonly kind: "cancel"; readonly to: string; readonly id: string; readonly reason: Payload; readonly at: number }
  /** Requests a cancel of every open child of the run whose `onClose` is `cancel`. */
  | {
      readonly kind: "closeChildren";
      readonly of: string;
      readonly reason: Payload;
      readonly at: number;
      /** Set if the run has ended: a child that has not started ends at once. Omitted if the run still waits for the ends of its children. */
      readonly isEnd?: true;
    };

/** The new state of a run's row, set by its owner or by a control transition. */
export type RunState =
  /** The run continues. `wait` is set if some branches wait while others work. */
  | { readonly status: "running"; readonly wait: Wait | null; readonly inboxSeen: number }
  /** The run waits for a post or a deadline. It is ready at once if the inbox has entries after `inboxSeen`. */
  | { readonly status: "suspended"; readonly wait: Wait; readonly inboxSeen: number }
  /** The owner gave up the run while it was working. Any worker may claim it now. */
  | { readonly status: "released"; readonly at: number }
  /** Stopped by an operator or by a divergence, with the reason. */
  | { readonly status: "paused"; readonly reason: Payload }
  /**
   * Set from outside: a record stops the program, and the next owner rolls back the run's steps. Then the run has the status `end`, by
   * default `cancelled`. `claims` are counted already, by default none: the rollbacks of a run that crashed its workers may crash them too.
   */
  | {
      readonly status: "compensating";
      readonly reason: Payload;
      readonly at: number;
      readonly end?: Stop["end"];
      readonly claims?: number;
    }
  /** Claimable after a pause. */
  | { readonly status: "resumed"; readonly at: number }
  /** Claimable after an operator changed the journal, even if the run had ended. `version` is null if it does not change. */
  | { readonly status: "reopened"; readonly at: number; readonly version: number | null; readonly undo: Undo }
  /** `continueAs`: the run starts again with a new input. The journal is cut, the inbox is kept. */
  | {
      readonly status: "continued";
      readonly workflow: string;
      readonly version: number;
      readonly input: Payload;
      readonly baseSeq: number;
      readonly at: number;
    }
  /**
   * An ended run starts again under its id, as the next generation: with the facts of another start, an empty journal, and the ids of the
   * messages that it has received. It keeps its parent.
   */
  | { readonly status: "restarted"; readonly run: NewRun; readonly baseSeq: number }
  /** The run ends. Its waits and subscriptions are deleted, and each message in the inbox is treated by its own policy. */
  | { readonly status: TerminalStatus; readonly outcome: Payload; readonly at: number };

/** A row stored beside the runs: a human task, a deployment, a snapshot. */
export interface StoredDocument {
  readonly kind: string;
  readonly id: string;
  /** The run that the document belongs to. It is deleted with the run's rows. */
  readonly runId: string | null;
  readonly body: Payload;
  /**
   * Up to four attributes, `a` to `d`, which stores index. The kind defines their meaning, except that of `d`: when a run fails, is
   * cancelled or is redirected by an operator, the same commit sets `d` of its documents from `open` to `cancelled`.
   */
  readonly attributes: DocumentAttributes;
}

export type DocumentAttributes = { readonly [name in "a" | "b" | "c" | "d"]?: string };

/** Values of attribute `d`: the run may still end the document; the run ended without it. */
export const OPEN_DOCUMENT = "open";
export const CANCELLED_DOCUMENT = "cancelled";

export type DocumentChange =
  | { readonly put: StoredDocument }
  /** Stores the document, unless one of this kind and id exists. */
  | { readonly create: StoredDocument }
  /** Sets these attributes, and keeps the body and the other attributes. No effect if the document does not exist. */
  | { readonly mark: { readonly kind: string; readonly id: string; readonly attributes: DocumentAttributes } }
  | { readonly remove: { readonly kind: string; readonly id: string } };

/** A change of a run's journal and inbox by an operator action. */
export interface JournalChange {
  /** The newest seq and the status that the action is based on. If they differ, the store refuses. Null disables the check. */
  readonly seen: { readonly seq: number; readonly status: Status } | null;
  /** Records after this seq, and the snapshot, are removed. Null removes nothing. */
  readonly cutAfter: number | null;
  /** Records added after the remaining ones. */
  readonly add: readonly NewRecord[];
  /** Entries that removed records received. They are returned to the inbox ahead of the others, unless they are still in it. */
  readonly restore: ReadonlyArray<Omit<InboxEntry, "n">>;
}

/**
 * The only code in a transition. The store calls it inside its own transaction, with that transaction, after the guards have passed and
 * before the records are written, because it completes them. If it throws, the transition is refused and nothing is written. It is
 * called again if the batch is sent again after a commit that was not applied.
 */
export type InTransaction = (tx: unknown) => void | Promise<void>;

/** Changes that the owner of a run adds to it. Guard: the run is not terminal and has this epoch. */
export interface Append {
  readonly kind: "append";
  readonly runId: string;
  readonly epoch: number;
  /** The row's turn after this transition: the previous turn plus one. Unused if `state` is null. */
  readonly turn: number;
  /** Consecutive. The first record follows the run's newest record. */
  readonly records: readonly JournalRecord[];
  /** Records to remove: iterations of a loop whose state these records store. Never the newest record. */
  readonly trim: readonly SeqRange[];
  /** Numbers of the inbox entries that these records received. */
  readonly taken: readonly number[];
  readonly posts: readonly Post[];
  readonly documents: readonly DocumentChange[];
  /** Null if the row does not change. */
  readonly state: RunState | null;
  /** Null if it does not change. */
  readonly undo: Undo | null;
  /** Set if the decision depends on the inbox: the newest entry that was seen. The store refuses if there are newer entries. */
  readonly inbox: number | null;
  /** Set if the decision depends on a deadline. The store refuses before this time on its clock. */
  readonly notBefore: number | null;
  /** User code of the transition. Null if there is none. */
  readonly transaction: InTransaction | null;
}

/** Shared by all empty appends. A list that is identical to it must be replaced before the first item is added. */
export const NO_ITEMS: readonly never[] = [];

/** Returns an append without changes. */
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

/** A change that a store applies or refuses as a whole. */
export type Transition =
  /** Guard: no run has this id. */
  | { readonly kind: "create"; readonly run: NewRun; readonly history?: RunHistory }
  | Append
  /**
   * Changes a run from outside: a cancel, a pause, an operator action. Raises the epoch, which fences the owner. Guard: the run has this
   * epoch and is not terminal. `reopened` also applies to a terminal run, and `restarted` only to one.
   */
  | {
      readonly kind: "control";
      readonly runId: string;
      readonly epoch: number;
      readonly state: RunState;
      readonly posts: readonly Post[];
      /** Set if the decision depends on the run's undo state. The store refuses with `fenced` if it has changed. */
      readonly undo: Undo | null;
      /** Null if the journal does not change. */
      readonly journal: JournalChange | null;
      /** Identifies the call, so a repeated call gets the same answer. */
      readonly controlId: string;
    }
  /** From outside, to a run or a topic. No guard: every post gets an answer. */
  | { readonly kind: "post"; readonly post: MessagePost | EventPost | Extract<Post, { kind: "cancel" }> }
  /** Removes a dead letter and, unless `post` is null, posts it again. Guard: the letter exists. */
  | { readonly kind: "letter"; readonly letterId: string; readonly post: MessagePost | EventPost | null }
  /** Changes documents only. */
  | { readonly kind: "documents"; readonly documents: readonly DocumentChange[] }
  /**
   * Replaces a document, or creates it if `seen` is null. Guards: the stored document equals `seen`, and the run that `post` is sent to
   * has not ended. Without a post the second guard applies to the document's run.
   */
  | {
      readonly kind: "revise";
      readonly seen: StoredDocument | null;
      readonly document: StoredDocument;
      readonly post: MessagePost | null;
    };

export type PostAnswer =
  /** Received by `runs` waiting runs. */
  | { readonly kind: "delivered"; readonly runs: number }
  | { readonly kind: "queued" }
  | { readonly kind: "dropped" }
  | { readonly kind: "duplicate" }
  | { readonly kind: "targetNotFound" }
  | { readonly kind: "targetTerminated"; readonly status: TerminalStatus };

export type Refusal =
  /** `create`: another call has created a run with this id. */
  | { readonly reason: "exists"; readonly status: Status; readonly epoch: number }
  | { readonly reason: "notFound" }
  | { readonly reason: "terminal"; readonly status: TerminalStatus }
  /** The run has another epoch: the writer does not own it any more. */
  | { readonly reason: "fenced"; readonly epoch: number }
  /** The newest seq or the status differs from that of the decision. */
  | { readonly reason: "moved"; readonly seq: number; readonly status: Status }
  /** The stored document differs from the one that was read. */
  | { readonly reason: "changed" }
  /** The inbox has entries that the decision did not see. */
  | { readonly reason: "inbox"; readonly inboxLast: number }
  /** The deadline has not passed on the store's clock. */
  | { readonly reason: "early"; readonly now: number }
  /** The user code threw, or the store does not support user code. */
  | { readonly reason: "threw"; readonly error: unknown };

export type Answer =
  /** `post` is the answer to a `post` or `letter`. `again` is true if the same transition was applied before. */
  | { readonly kind: "applied"; readonly post: PostAnswer | null; readonly again: boolean }
  | ({ readonly kind: "refused" } & Refusal);

/** A run that became ready in a commit. */
export interface Wake {
  readonly runId: string;
  readonly owner: string | null;
  readonly epoch: number;
  /** Inbox entries that the commit added, oldest first. Enough for a hot session that has seen all earlier ones. Null if the inbox must be read. */
  readonly entries: readonly InboxEntry[] | null;
}

/** Returns the run that this transition ends. Null if it ends none. */
export function endedBy(transition: Transition): string | null {
  if (transition.kind !== "append" && transition.kind !== "control") return null;
  const status = transition.state?.status;
  return status === "completed" || status === "failed" || status === "cancelled" ? transition.runId : null;
}
