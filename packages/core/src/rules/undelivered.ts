import type { DeadLetter } from "../model/inbox.ts";
import { nameSegment } from "../model/location.ts";
import type { MessagePost } from "../model/transition.ts";
import { applyEvent } from "./apply-event.ts";
import type { Batch } from "./batch.ts";

/** How long a broadcast message is kept as an event, and how many are kept per topic. */
const BROADCAST_EXPIRE_MS = 7 * 24 * 60 * 60 * 1000;
const BROADCAST_PENDING_MAX = 10_000;

type Undelivered = Pick<MessagePost, "to" | "id" | "name" | "value" | "at">;

/** Users cannot give an id with `//`, so this id equals no other event's or letter's. */
function originId(to: string, id: string): string {
  return `${nameSegment(to)}//${nameSegment(id)}`;
}

export function buryMessage(batch: Batch, message: Undelivered, why: Pick<DeadLetter, "reason" | "status">): void {
  batch.tables.letters.insert({
    id: originId(message.to, message.id),
    kind: "message",
    target: message.to,
    name: message.name,
    value: message.value,
    ...why,
    sentAt: message.at,
    deadAt: batch.now,
    postId: message.id,
  });
}

/** Emits a message whose target has ended as an event of its name. */
export function broadcastMessage(batch: Batch, to: string, message: Omit<Undelivered, "to">): void {
  applyEvent(batch, {
    kind: "event",
    topic: message.name,
    id: originId(to, message.id),
    value: message.value,
    at: message.at,
    expireAt: batch.now + BROADCAST_EXPIRE_MS,
    deliver: "all",
    consume: "one",
    pendingMax: BROADCAST_PENDING_MAX,
  });
}
