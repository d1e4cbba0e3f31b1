import type { NewRun, Parent, Payload, Status, TerminalStatus, Undo } from "./run.ts";
import type {
  Append,
  DocumentChange,
  EventPost,
  JournalChange,
  MessagePost,
  Post,
  RunHistory,
  RunState,
  StoredDocument,
} from "./transition.ts";

/** What the owner of a run has to add to it since its last commit. The turn is the row's, which is known where it is decided. */
export type AppendOp = Append;

/** An operator changes the journal of a run that it has read, and puts the run to work with it. */
export interface RewriteOp {
  readonly kind: "rewrite";
  readonly runId: string;
  readonly opId: string;
  /** Of the run that was read. */
  readonly epoch: number;
  readonly journal: JournalChange;
  /** Null: the run stays on its version. */
  readonly version: number | null;
  /** What the run has to undo with the journal that it is given. */
  readonly undo: Undo;
  readonly posts: readonly Post[];
  /** The run begins again with this, as after `continueAs`: of its journal only what is added stays. Left out: it goes on. */
  readonly restart?: Omit<Extract<RunState, { status: "continued" }>, "status" | "at">;
}

/** One who has read a document puts another in its place, and tells a run of it in the same commit. */
export interface ReviseOp {
  readonly kind: "revise";
  /** As it was read; null: there was none. */
  readonly seen: StoredDocument | null;
  readonly document: StoredDocument;
  readonly post: MessagePost | null;
}

/** An intent, as data. */
export type Op =
  | { readonly kind: "start"; readonly run: NewRun; readonly history?: RunHistory }
  | AppendOp
  | RewriteOp
  | { readonly kind: "send"; readonly post: MessagePost }
  | { readonly kind: "emit"; readonly post: EventPost }
  | { readonly kind: "cancel"; readonly runId: string; readonly opId: string; readonly reason: Payload }
  | { readonly kind: "pause"; readonly runId: string; readonly opId: string; readonly reason: Payload }
  | { readonly kind: "resume"; readonly runId: string; readonly opId: string }
  /** Takes a run from its owner, and lets nobody have it for a while. */
  | { readonly kind: "hold"; readonly runId: string; readonly opId: string; readonly forMs: number }
  | {
      readonly kind: "fail";
      readonly runId: string;
      readonly opId: string;
      readonly epoch: number;
      readonly failure: Payload;
    }
  | { readonly kind: "letter"; readonly letterId: string; readonly post: MessagePost | EventPost | null }
  | { readonly kind: "documents"; readonly documents: readonly DocumentChange[] }
  | ReviseOp;

export type SendOutcome =
  /** The run was waiting for it. */
  | { readonly kind: "delivered" }
  /** It lies in the run's inbox. */
  | { readonly kind: "queued"; readonly id: string }
  | { readonly kind: "duplicate"; readonly id: string }
  | { readonly kind: "targetNotFound" }
  | { readonly kind: "targetTerminated"; readonly status: TerminalStatus };

export type EmitOutcome =
  | { readonly kind: "delivered"; readonly runs: number }
  | { readonly kind: "queued"; readonly id: string }
  | { readonly kind: "duplicate"; readonly id: string }
  /** Nobody waited, and `deliver` was `afterWait`. */
  | { readonly kind: "dropped" };

export type ControlOutcome =
  | { readonly kind: "done" }
  /** A cancel: the run undoes what it has done, then it is cancelled. */
  | { readonly kind: "compensating" }
  /** The run ended first; nothing changed. */
  | { readonly kind: "ended"; readonly status: TerminalStatus }
  | { readonly kind: "notFound" }
  /** The run is in a status that this op does not apply to. */
  | { readonly kind: "refused"; readonly status: Status };

/**
 * Why an owner's append was not applied: it owns the run no longer, or what it decided on has changed. `unsure`: it was applied,
 * and only the journal knows how.
 */
export type LostReason = "fenced" | "ended" | "gone" | "inbox" | "early" | "unsure";

/** The answer to each kind of op. */
export interface Outcomes {
  start: { readonly kind: "started" } | { readonly kind: "exists"; readonly status: Status };
  /** `again`: it was there already, brought by an earlier sending. */
  append:
    | { readonly kind: "appended"; readonly again: boolean }
    | { readonly kind: "lost"; readonly reason: LostReason }
    /** Its code threw: nothing changed. */
    | { readonly kind: "threw"; readonly error: unknown };
  send: SendOutcome;
  emit: EmitOutcome;
  cancel: ControlOutcome;
  pause: ControlOutcome;
  resume: ControlOutcome;
  hold: ControlOutcome;
  fail: ControlOutcome;
  rewrite:
    | { readonly kind: "done" }
    | { readonly kind: "notFound" }
    /** The run has changed since it was read; nothing was done. */
    | { readonly kind: "moved" };
  letter:
    | { readonly kind: "replayed"; readonly outcome: SendOutcome | EmitOutcome }
    | { readonly kind: "removed" }
    | { readonly kind: "notFound" };
  documents: { readonly kind: "done" };
  revise:
    | { readonly kind: "done" }
    /** It is not any more what was read; nothing changed. */
    | { readonly kind: "changed" }
    /** The run that was to be told has ended, or is not there; nothing changed. */
    | { readonly kind: "ended"; readonly status: TerminalStatus | null };
}

export type OutcomeOf<O extends Op> = Outcomes[O["kind"]];

/** What a decision about a run needs to know of it. */
export interface RunView {
  readonly id: string;
  readonly status: Status;
  readonly epoch: number;
  readonly turn: number;
  /** The newest seq; known to the owner alone, -1 for others. */
  readonly seq: number;
  readonly parent: Parent | null;
  readonly undo: Undo;
}

/** Returns the length of the payloads in an op. Its other fields are small. */
export function opBytes(op: Op): number {
  switch (op.kind) {
    case "append":
      return (
        total(op.records, recordBytes) +
        total(op.posts, postBytes) +
        total(op.documents, documentBytes) +
        (op.state === null ? 0 : stateBytes(op.state))
      );
    case "start":
      return startBytes(op);
    case "rewrite":
      return (
        total(op.journal.add, recordBytes) +
        total(op.journal.restore, entryBytes) +
        total(op.posts, postBytes) +
        payloadBytes(op.restart?.input ?? null)
      );
    case "send":
    case "emit":
      return payloadBytes(op.post.value);
    case "letter":
      return payloadBytes(op.post?.value ?? null);
    case "cancel":
    case "pause":
      return payloadBytes(op.reason);
    case "fail":
      return payloadBytes(op.failure);
    case "documents":
      return total(op.documents, documentBytes);
    case "revise":
      return (
        payloadBytes(op.document.body) + payloadBytes(op.seen?.body ?? null) + payloadBytes(op.post?.value ?? null)
      );
    case "resume":
    case "hold":
      return 0;
  }
}

export function postBytes(post: Post): number {
  switch (post.kind) {
    case "message":
    case "event":
      return payloadBytes(post.value);
    case "start":
      return startBytes(post);
    case "childEnd":
      return payloadBytes(post.outcome);
    case "cancel":
    case "closeChildren":
      return payloadBytes(post.reason);
  }
}

export function documentBytes(change: DocumentChange): number {
  if ("put" in change) return payloadBytes(change.put.body);
  return "create" in change ? payloadBytes(change.create.body) : 0;
}

function startBytes({ run, history }: { readonly run: { readonly input: Payload }; readonly history?: RunHistory }) {
  const own = payloadBytes(run.input);
  return history === undefined ? own : own + total(history.records, recordBytes) + total(history.inbox, entryBytes);
}

function stateBytes(state: RunState): number {
  if ("outcome" in state) return payloadBytes(state.outcome);
  if ("reason" in state) return payloadBytes(state.reason);
  return "input" in state ? payloadBytes(state.input) : 0;
}

function recordBytes({ payload }: { readonly payload: Payload }): number {
  return payloadBytes(payload);
}

function entryBytes({ value }: { readonly value: Payload }): number {
  return payloadBytes(value);
}

function payloadBytes(payload: Payload): number {
  return payload === null ? 0 : payload.length;
}

function total<Item>(items: readonly Item[], bytesOf: (item: Item) => number): number {
  let bytes = 0;
  for (const item of items) bytes += bytesOf(item);
  return bytes;
}
