import { childEndId, type InboxEntry, isPauseRequest } from "../model/inbox.ts";
import { isTerminal } from "../model/run.ts";
import type { MessagePost, Post, PostAnswer } from "../model/transition.ts";
import { applyEvent } from "./apply-event.ts";
import type { Batch } from "./batch.ts";
import { closeChildren } from "./close-children.ts";
import { deliver } from "./deliver.ts";
import { broadcastMessage, buryMessage } from "./undelivered.ts";

/** Posts that a caller outside a run may send. */
export type DirectPost = Extract<Post, { kind: "message" | "event" | "cancel" }>;

type ChildEnd = Extract<Post, { kind: "childEnd" }>;
type CancelPost = Extract<Post, { kind: "cancel" }>;

const QUEUED: PostAnswer = { kind: "queued" };
const DUPLICATE: PostAnswer = { kind: "duplicate" };
const NOT_FOUND: PostAnswer = { kind: "targetNotFound" };

export function applyPost(batch: Batch, post: Post): PostAnswer {
  switch (post.kind) {
    case "message":
      return postMessage(batch, post);
    case "event":
      return applyEvent(batch, post);
    case "start":
      return batch.create(post.run, post.history) ? QUEUED : DUPLICATE;
    case "childEnd":
      // A child that was reopened ends again.
      return postEntry(batch, post.to, childEntry(post), true);
    case "cancel":
      return postRequest(batch, post.to, cancelEntry(post));
    case "closeChildren":
      closeChildren(batch, post, cancelEntry({ ...post, id: `close:${post.of}` }));
      return QUEUED;
  }
}

function postMessage(batch: Batch, post: MessagePost): PostAnswer {
  const { kind, id, name, value, at, onTargetTerminated } = post;
  const answer = postEntry(batch, post.to, { kind, id, name, value, status: null, at, onTargetTerminated });
  if (answer.kind === "targetNotFound") {
    if (post.from !== null) buryMessage(batch, post, { reason: "targetNotFound", status: null });
  } else if (answer.kind === "targetTerminated") {
    if (onTargetTerminated === "broadcast") broadcastMessage(batch, post.to, post);
    else if (onTargetTerminated === "deadLetter" || post.from !== null) {
      buryMessage(batch, post, { reason: "targetTerminated", status: answer.status });
    }
  }
  return answer;
}

/** A run that is paused already needs no request to pause. It would make the run claimable. */
function postRequest(batch: Batch, to: string, request: Omit<InboxEntry, "n">): PostAnswer {
  const isPaused = isPauseRequest(request) && batch.tables.runs.head(to)?.status === "paused";
  return isPaused ? DUPLICATE : postEntry(batch, to, request);
}

/**
 * A known id is a duplicate even after the run has ended, so that a resent post gets the answer of a received one. `again` also adds an
 * entry that the run has received before.
 */
function postEntry(batch: Batch, to: string, entry: Omit<InboxEntry, "n">, again = false): PostAnswer {
  const head = batch.tables.runs.head(to);
  if (head === null) return NOT_FOUND;
  if (!isTerminal(head.status)) return deliver(batch, head, entry, again);
  if (batch.tables.inbox.knows(head, entry.kind, entry.id)) return DUPLICATE;
  return { kind: "targetTerminated", status: head.status };
}

function childEntry({ location, child, outcome, status, at }: ChildEnd): Omit<InboxEntry, "n"> {
  const id = childEndId(location, child);
  return { kind: "child", id, name: location, value: outcome, status, at, onTargetTerminated: "discard" };
}

function cancelEntry({ id, reason, at }: Pick<CancelPost, "id" | "reason" | "at">): Omit<InboxEntry, "n"> {
  return { kind: "cancel", id, name: "", value: reason, status: null, at, onTargetTerminated: "discard" };
}
