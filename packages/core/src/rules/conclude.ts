import type { EmitOutcome, Op, Outcomes, SendOutcome } from "../model/op.ts";
import type { Answer, EventPost, MessagePost, PostAnswer, Transition } from "../model/transition.ts";

/** The result of an op, or `again` if the run has changed since it was read: read it and decide again. */
export type Conclusion =
  | { readonly kind: "outcome"; readonly outcome: Outcomes[Op["kind"]] }
  | { readonly kind: "again" };

/**
 * Turns the store's answer into the outcome of an op. Pure. An answer that the op's transition cannot have is a bug, and throws.
 * `resent` means that the batch was sent more than once: a "duplicate" may be this same post, and counts as accepted. `sent` is the
 * transition that the store answered.
 */
export function conclude(op: Op, answer: Answer, resent: boolean, sent: Transition | null = null): Conclusion {
  switch (op.kind) {
    case "start":
      if (answer.kind === "applied") return outcome({ kind: "started" });
      if (answer.reason === "exists") return outcome({ kind: "exists", status: answer.status });
      return impossible(op, answer);
    case "append":
      if (answer.kind !== "applied") return outcome(concludeLost(op, answer));
      return answer.again ? (resent ? APPENDED_AGAIN : UNSURE) : APPENDED;
    case "send":
      return outcome(sendOutcome(op.post, posted(op, answer, resent)));
    case "emit":
      return outcome(emitOutcome(op.post, posted(op, answer, resent)));
    case "cancel":
    case "fail":
      if (sent?.kind === "post") return concludeRequest(op, answer);
      return answer.kind === "applied" && isStop(sent) ? COMPENSATING : concludeControl(op, answer);
    case "terminate":
    case "pause":
      return sent?.kind === "post" ? concludeRequest(op, answer) : concludeControl(op, answer);
    case "resume":
    case "hold":
      return concludeControl(op, answer);
    case "rewrite":
      return concludeRewrite(op, answer);
    case "letter":
      if (answer.kind === "refused") return outcome({ kind: "notFound" });
      return outcome(
        op.post === null
          ? { kind: "removed" }
          : { kind: "replayed", outcome: replayed(op.post, posted(op, answer, resent)) },
      );
    case "documents":
      return outcome({ kind: "done" });
    case "revise":
      return concludeRevise(op, answer);
  }
}

const COMPENSATING: Conclusion = { kind: "outcome", outcome: { kind: "compensating" } };
const APPENDED: Conclusion = { kind: "outcome", outcome: { kind: "appended", again: false } };
/** Records of an earlier session, whose append was still in flight, have these seqs. */
const UNSURE: Conclusion = { kind: "outcome", outcome: { kind: "lost", reason: "unsure" } };
const APPENDED_AGAIN: Conclusion = { kind: "outcome", outcome: { kind: "appended", again: true } };

function isStop(sent: Transition | null): boolean {
  return sent?.kind === "control" && sent.state.status === "compensating";
}

function concludeLost(op: Op, answer: Extract<Answer, { kind: "refused" }>): Outcomes["append"] {
  switch (answer.reason) {
    case "fenced":
    case "inbox":
    case "early":
      return { kind: "lost", reason: answer.reason };
    case "terminal":
      return { kind: "lost", reason: "ended" };
    case "notFound":
      return { kind: "lost", reason: "gone" };
    case "threw":
      return { kind: "threw", error: answer.error };
    case "exists":
    case "moved":
    case "changed":
      return impossible(op, answer);
  }
}

function concludeControl(op: Op, answer: Answer): Conclusion {
  if (answer.kind === "applied") return outcome({ kind: "done" });
  switch (answer.reason) {
    case "fenced":
      return { kind: "again" };
    case "terminal":
      return outcome({ kind: "ended", status: answer.status });
    case "notFound":
      return outcome({ kind: "notFound" });
    case "exists":
    case "inbox":
    case "early":
    case "moved":
    case "changed":
    case "threw":
      return impossible(op, answer);
  }
}

function concludeRequest(op: Op, answer: Answer): Conclusion {
  const post = posted(op, answer, false);
  switch (post.kind) {
    case "delivered":
    case "queued":
    case "duplicate":
      return outcome({ kind: "requested" });
    case "targetNotFound":
      return outcome({ kind: "notFound" });
    case "targetTerminated":
      return outcome({ kind: "ended", status: post.status });
    case "dropped":
      return impossible(op, answer);
  }
}

function concludeRewrite(op: Op, answer: Answer): Conclusion {
  if (answer.kind === "applied") return outcome({ kind: "done" });
  switch (answer.reason) {
    case "fenced":
    case "moved":
      return outcome({ kind: "moved" });
    case "notFound":
      return outcome({ kind: "notFound" });
    case "terminal":
      // A run may be reopened with another journal after it ended; it cannot be restarted then.
      return op.kind === "rewrite" && op.restart !== undefined ? outcome({ kind: "moved" }) : impossible(op, answer);
    case "exists":
    case "changed":
    case "inbox":
    case "early":
    case "threw":
      return impossible(op, answer);
  }
}

function concludeRevise(op: Op, answer: Answer): Conclusion {
  if (answer.kind === "applied") return outcome({ kind: "done" });
  switch (answer.reason) {
    case "changed":
      return outcome({ kind: "changed" });
    case "notFound":
      return outcome({ kind: "ended", status: null });
    case "terminal":
      return outcome({ kind: "ended", status: answer.status });
    case "exists":
    case "fenced":
    case "moved":
    case "inbox":
    case "early":
    case "threw":
      return impossible(op, answer);
  }
}

function posted(op: Op, answer: Answer, resent: boolean): PostAnswer {
  if (answer.kind !== "applied" || answer.post === null) return impossible(op, answer);
  return resent && answer.post.kind === "duplicate" ? { kind: "queued" } : answer.post;
}

function replayed(post: MessagePost | EventPost, answer: PostAnswer): SendOutcome | EmitOutcome {
  return post.kind === "message" ? sendOutcome(post, answer) : emitOutcome(post, answer);
}

function sendOutcome(post: MessagePost, answer: PostAnswer): SendOutcome {
  switch (answer.kind) {
    case "delivered":
      return { kind: "delivered" };
    case "queued":
    case "duplicate":
      return { kind: answer.kind, id: post.id };
    case "targetNotFound":
      return { kind: "targetNotFound" };
    case "targetTerminated":
      return answer;
    case "dropped":
      throw new Error(`message ${post.id} was answered as dropped`);
  }
}

function emitOutcome(post: EventPost, answer: PostAnswer): EmitOutcome {
  switch (answer.kind) {
    case "delivered":
      return { kind: "delivered", runs: answer.runs };
    case "queued":
    case "duplicate":
      return { kind: answer.kind, id: post.id };
    case "dropped":
      return { kind: "dropped" };
    case "targetNotFound":
    case "targetTerminated":
      throw new Error(`event ${post.id} was answered as ${answer.kind}`);
  }
}

function outcome(value: Outcomes[Op["kind"]]): Conclusion {
  return { kind: "outcome", outcome: value };
}

function impossible(op: Op, answer: Answer): never {
  throw new Error(`op ${op.kind} cannot be answered with ${JSON.stringify(answer)}`);
}
