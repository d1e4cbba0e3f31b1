import type { Op } from "./op.ts";
import type { Payload } from "./run.ts";
import type { DocumentChange, Post, RunHistory, RunState } from "./transition.ts";

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
