import { cancelRequestId, childEndStatus, pauseRequestId } from "../model/inbox.ts";
import type { AppendOp, ControlOutcome, Op, Outcomes, RewriteOp, RunView, StopOp } from "../model/op.ts";
import type { RecordKind } from "../model/record.ts";
import { isTerminal, type Payload, type TerminalStatus, type Undo } from "../model/run.ts";
import type { Post, RunState, Transition } from "../model/transition.ts";

/** A transition for the store, or an outcome that needs none. */
export type Decision =
  | { readonly kind: "transition"; readonly transition: Transition }
  | { readonly kind: "outcome"; readonly outcome: Outcomes[Op["kind"]] };

/** Decides an op. Pure: the same view, op and time give the same decision. `view` is null if the run does not exist, or the op has none. */
export function decide(view: RunView | null, op: Op, now: number): Decision {
  switch (op.kind) {
    case "start":
      return transition(op.history === undefined ? { kind: "create", run: op.run } : { ...op, kind: "create" });
    case "append":
      return decideAppend(view, op);
    case "send":
    case "emit":
      return transition({ kind: "post", post: op.post });
    case "cancel":
      return view?.status === "running" && op.by === "owner" ? request(view, op, now) : decideCancel(view, op, now);
    case "terminate":
      return decideTerminate(view, op, now);
    case "pause":
      if (view !== null && isExecuted(view) && op.by === "owner") return request(view, op, now);
      return view?.status === "paused"
        ? answer({ kind: "done" })
        : control(view, op, { status: "paused", reason: op.reason });
    case "resume":
      return view !== null && !isTerminal(view.status) && (view.status !== "paused" || isOutdated(view, op))
        ? answer({ kind: "refused", status: view.status })
        : control(view, op, { status: "resumed", at: now });
    case "fail":
      return decideFail(view, op, now);
    case "hold":
      return view?.status === "paused"
        ? answer({ kind: "done" })
        : control(view, op, { status: "released", at: now + op.forMs });
    case "rewrite":
      return decideRewrite(view, op, now);
    case "letter":
      return transition({ kind: "letter", letterId: op.letterId, post: op.post });
    case "documents":
      return transition({ kind: "documents", documents: op.documents });
    case "revise":
      return transition({ kind: "revise", seen: op.seen, document: op.document, post: op.post });
  }
}

/** An owner appends only records that follow the newest one, only to an open run, and only under its own epoch. */
function decideAppend(view: RunView | null, op: AppendOp): Decision {
  if (view === null) return answer({ kind: "lost", reason: "gone" });
  if (view.epoch !== op.epoch) return answer({ kind: "lost", reason: "fenced" });
  if (isTerminal(view.status)) return answer({ kind: "lost", reason: "ended" });
  let seq = view.seq;
  for (const record of op.records) {
    seq += 1;
    if (record.seq !== seq) throw new Error(`run ${op.runId}: record ${record.seq} appended where ${seq} follows`);
  }
  const { state } = op;
  if (state === null) return transition(op);
  return transition({
    kind: "append",
    runId: op.runId,
    epoch: op.epoch,
    turn: view.turn + 1,
    records: op.records,
    trim: op.trim,
    taken: op.taken,
    posts: [...op.posts, ...endPosts(view, state, op.undo ?? view.undo)],
    documents: op.documents,
    state,
    undo: op.undo,
    inbox: op.inbox,
    notBefore: op.notBefore,
    transaction: op.transaction,
  });
}

function isExecuted({ status }: RunView): boolean {
  return status === "running" || status === "compensating";
}

/** Requests the owner of a run to stop it. A repeated request of the same epoch is a duplicate. */
function request({ id: to, epoch }: RunView, { kind, reason }: StopOp, at: number): Decision {
  const id = kind === "pause" ? pauseRequestId(epoch) : cancelRequestId(epoch);
  return transition({ kind: "post", post: { kind: "cancel", to, id, reason, at } });
}

/** Cancels a run. A run with something to undo compensates first; a compensating run is not cancelled again. */
function decideCancel(view: RunView | null, op: StopOp, now: number): Decision {
  if (view === null || isTerminal(view.status) || view.undo === "none")
    return control(view, op, { status: "cancelled", outcome: op.reason, at: now });
  if (view.undo === "underWay") return answer({ kind: "refused", status: "compensating" });
  return control(view, op, { status: "compensating", reason: op.reason, at: now });
}

/** Fails a run that no worker can execute. A run with something to undo compensates first, if the op requests it. */
function decideFail(view: RunView | null, op: Extract<Op, { kind: "fail" }>, at: number): Decision {
  const { epoch, failure, compensate } = op;
  if (view !== null && view.epoch !== epoch) return answer({ kind: "refused", status: view.status });
  return compensate !== undefined && view?.undo === "some"
    ? control(view, op, { status: "compensating", end: "failed", reason: failure, at, ...compensate })
    : control(view, op, { status: "failed", outcome: failure, at });
}

/** Ends a run whether it has something to undo or not, and while it is compensating too. So the decision does not depend on its undo state. */
function decideTerminate(view: RunView | null, op: Extract<Op, { kind: "terminate" }>, now: number): Decision {
  const decision = control(view, op, { status: "cancelled", outcome: op.reason, at: now });
  if (decision.kind !== "transition" || decision.transition.kind !== "control") return decision;
  return transition({ ...decision.transition, undo: null });
}

function control(
  view: RunView | null,
  op: { readonly runId: string; readonly opId: string },
  state: RunState,
): Decision {
  if (view === null) return answer({ kind: "notFound" });
  if (isTerminal(view.status)) return answer({ kind: "ended", status: view.status });
  return transition({
    kind: "control",
    runId: op.runId,
    epoch: view.epoch,
    state,
    posts: endPosts(view, state, view.undo),
    undo: state.status === "cancelled" || state.status === "compensating" ? view.undo : null,
    journal: null,
    controlId: op.opId,
  });
}

function isOutdated(view: RunView, { epoch = view.epoch }: Extract<Op, { kind: "resume" }>): boolean {
  return view.epoch !== epoch;
}

/** A decision based on a read holds only for the epoch that was read. If the epoch has changed, the run is read again. */
function decideRewrite(view: RunView | null, op: RewriteOp, now: number): Decision {
  if (view === null) return answer({ kind: "notFound" });
  if (view.epoch !== op.epoch) return answer({ kind: "moved" });
  const { runId, epoch, posts, journal, opId: controlId } = op;
  const state = rewrittenState(op, now);
  return transition({ kind: "control", runId, epoch, state, posts, journal, undo: null, controlId });
}

function rewrittenState({ restart, next, version, undo }: RewriteOp, at: number): RunState {
  if (next !== undefined) return { status: "restarted", ...next };
  return restart === undefined ? { status: "reopened", at, version, undo } : { status: "continued", at, ...restart };
}

/** The posts of a run's end: its outcome to the parent, a cancel to the children. */
function endPosts({ id, parent }: RunView, state: RunState, undo: Undo): readonly Post[] {
  if (state.status === "compensating") return [{ kind: "closeChildren", of: id, reason: null, at: state.at }];
  if (!isEnd(state)) return [];
  const { at, outcome } = state;
  const close: Post = { kind: "closeChildren", of: id, reason: null, at, isEnd: true };
  if (parent === null) return [close];
  const { runId: to, location } = parent;
  const status = childEndStatus(state.status, undo);
  return [close, { kind: "childEnd", to, location, child: id, status, outcome, at }];
}

function isEnd(state: RunState): state is { status: TerminalStatus; outcome: Payload; at: number } {
  return state.status === "completed" || state.status === "failed" || state.status === "cancelled";
}

function transition(change: Transition): Decision {
  return { kind: "transition", transition: change };
}

function answer(outcome: Outcomes[Op["kind"]] | ControlOutcome): Decision {
  return { kind: "outcome", outcome };
}

/** Kinds of records that no step body produced. */
const RECEIPTS: ReadonlySet<RecordKind> = new Set(["listen", "event", "select", "sleep"]);

/** Whether an append may yield to others: it only ends a run that posts nothing, and a crash before the commit repeats no step. */
export function canWait({ state, records, posts, documents }: AppendOp, view: RunView | null): boolean {
  if (view === null || view.parent !== null || posts.length > 0 || documents.length > 0) return false;
  if (state?.status !== "completed" && state?.status !== "failed") return false;
  return records.every(({ kind }) => RECEIPTS.has(kind));
}
