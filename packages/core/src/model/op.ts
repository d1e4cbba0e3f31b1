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

/** Changes that the owner of a run collected since its last commit. The turn is set when the op is decided. */
export type AppendOp = Append;

/** An operator action: changes the journal of a run and makes the run claimable. */
export interface RewriteOp {
  readonly kind: "rewrite";
  readonly runId: string;
  readonly opId: string;
  /** The epoch at which the run was read. */
  readonly epoch: number;
  readonly journal: JournalChange;
  /** Null if the run keeps its version. */
  readonly version: number | null;
  /** The undo state that follows from the changed journal. */
  readonly undo: Undo;
  readonly posts: readonly Post[];
  /** Set for a restart: the run starts again as after `continueAs`, and its journal keeps only the added records. */
  readonly restart?: Omit<Extract<RunState, { status: "continued" }>, "status" | "at">;
  /** Set if an ended run starts again under its id. */
  readonly next?: Omit<Extract<RunState, { status: "restarted" }>, "status">;
}

/** Replaces a document that was read, and sends a message to a run in the same commit. */
export interface ReviseOp {
  readonly kind: "revise";
  /** The document as it was read. Null if it did not exist. */
  readonly seen: StoredDocument | null;
  readonly document: StoredDocument;
  readonly post: MessagePost | null;
}

/** Stops a run, permanently or until it is resumed. */
interface StopFields {
  readonly runId: string;
  readonly opId: string;
  readonly reason: Payload;
  /** `owner`: a run that is executed is not taken over. Its owner receives a request, so that running step bodies can end. */
  readonly by?: "owner";
}

/** A request to the engine, as data. */
export type Op =
  | { readonly kind: "start"; readonly run: NewRun; readonly history?: RunHistory }
  | AppendOp
  | RewriteOp
  | { readonly kind: "send"; readonly post: MessagePost }
  | { readonly kind: "emit"; readonly post: EventPost }
  | ({ readonly kind: "cancel" } & StopFields)
  /** Ends a run as cancelled at once: nothing is rolled back. */
  | ({ readonly kind: "terminate" } & StopFields)
  | ({ readonly kind: "pause" } & StopFields)
  /** With an epoch, a run that has changed its owner since it was read is not resumed. */
  | { readonly kind: "resume"; readonly runId: string; readonly opId: string; readonly epoch?: number }
  /** Takes a run from its owner and prevents claims of it for `forMs`. */
  | { readonly kind: "hold"; readonly runId: string; readonly opId: string; readonly forMs: number }
  | {
      readonly kind: "fail";
      readonly runId: string;
      readonly opId: string;
      readonly epoch: number;
      readonly failure: Payload;
      /** Compensates a run that has something to undo, before it fails. The run keeps these claims, so it stays a suspect. */
      readonly compensate?: { readonly claims: number };
    }
  | { readonly kind: "letter"; readonly letterId: string; readonly post: MessagePost | EventPost | null }
  | { readonly kind: "documents"; readonly documents: readonly DocumentChange[] }
  | ReviseOp;

export type StopOp = Extract<Op, { kind: "cancel" | "terminate" | "pause" }>;

export type SendOutcome =
  /** It completes a wait of the run. */
  | { readonly kind: "delivered" }
  /** Stored in the run's inbox. The run receives it later, or it becomes a dead letter when the run ends. */
  | { readonly kind: "queued"; readonly id: string }
  | { readonly kind: "duplicate"; readonly id: string }
  | { readonly kind: "targetNotFound" }
  | { readonly kind: "targetTerminated"; readonly status: TerminalStatus };

export type EmitOutcome =
  | { readonly kind: "delivered"; readonly runs: number }
  | { readonly kind: "queued"; readonly id: string }
  | { readonly kind: "duplicate"; readonly id: string }
  /** No run waited, and `deliver` was `afterWait`. */
  | { readonly kind: "dropped" };

export type ControlOutcome =
  | { readonly kind: "done" }
  /** Answer to a cancel: the run is rolled back first. */
  | { readonly kind: "compensating" }
  /** The owner of the run has received a request to stop it. */
  | { readonly kind: "requested" }
  /** The run had ended. Nothing changed. */
  | { readonly kind: "ended"; readonly status: TerminalStatus }
  | { readonly kind: "notFound" }
  /** The op does not apply to the run's status. */
  | { readonly kind: "refused"; readonly status: Status };

/**
 * Why an owner's append was not applied: the writer does not own the run any more, or the decision is outdated. `unsure`: it was applied,
 * and only the journal contains the result.
 */
export type LostReason = "fenced" | "ended" | "gone" | "inbox" | "early" | "unsure";

/** The outcomes of each kind of op. */
export interface Outcomes {
  start: { readonly kind: "started" } | { readonly kind: "exists"; readonly status: Status };
  /** `again` is true if an earlier attempt had applied it. */
  append:
    | { readonly kind: "appended"; readonly again: boolean }
    | { readonly kind: "lost"; readonly reason: LostReason }
    /** The user code threw. Nothing changed. */
    | { readonly kind: "threw"; readonly error: unknown };
  send: SendOutcome;
  emit: EmitOutcome;
  cancel: ControlOutcome;
  terminate: ControlOutcome;
  pause: ControlOutcome;
  resume: ControlOutcome;
  hold: ControlOutcome;
  fail: ControlOutcome;
  rewrite:
    | { readonly kind: "done" }
    | { readonly kind: "notFound" }
    /** The run changed after it was read. Nothing was done. */
    | { readonly kind: "moved" };
  letter:
    | { readonly kind: "replayed"; readonly outcome: SendOutcome | EmitOutcome }
    | { readonly kind: "removed" }
    | { readonly kind: "notFound" };
  documents: { readonly kind: "done" };
  revise:
    | { readonly kind: "done" }
    /** The document changed after it was read. Nothing was done. */
    | { readonly kind: "changed" }
    /** The run that the post is sent to has ended, or does not exist. Nothing was done. */
    | { readonly kind: "ended"; readonly status: TerminalStatus | null };
}

export type OutcomeOf<O extends Op> = Outcomes[O["kind"]];

/** The fields of a run that a decision depends on. */
export interface RunView {
  readonly id: string;
  readonly status: Status;
  readonly epoch: number;
  readonly turn: number;
  /** The newest seq, if the caller owns the run. Otherwise -1. */
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
        payloadBytes(op.restart?.input ?? op.next?.run.input ?? null)
      );
    case "send":
    case "emit":
      return payloadBytes(op.post.value);
    case "letter":
      return payloadBytes(op.post?.value ?? null);
    case "cancel":
    case "terminate":
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
  if ("run" in state) return payloadBytes(state.run.input);
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
