import { isFailure } from "../model/failure.ts";
import type { Op } from "../model/op.ts";
import { kinds, notAllowed, type OptionKind, type OptionKinds } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import type { NewRun, Parent, Payload, StartLimits } from "../model/run.ts";
import type { EventPost, MessagePost } from "../model/transition.ts";
import { EVENT_KINDS } from "../workflow/messages.ts";

/**
 * The ops that an application may submit. The others rest on what their maker has read: an owner on its run, an operator action on a
 * journal.
 */
export type CallerOp =
  | Omit<Extract<Op, { kind: "start" }>, "history">
  | Omit<Extract<Op, { kind: "cancel" }>, "by">
  | Omit<Extract<Op, { kind: "terminate" }>, "by">
  | Omit<Extract<Op, { kind: "pause" }>, "by">
  | Extract<Op, { kind: "send" | "emit" | "resume" | "letter" }>;

/** The id of a dead letter contains the id of a message, escaped. */
export const LETTER_ID = kinds.textUpTo(10_000);

/** Text that not every store keeps. */
const UNFIT = /[\0\p{Surrogate}]/u;

const PARENT = kinds.record<Parent>("the parent", {
  runId: kinds.runId,
  location: kinds.text,
  onClose: kinds.oneOf("cancel", "abandon"),
});

const LIMITS = kinds.record<StartLimits>("the limits", {
  deadlineAt: kinds.nullable(kinds.time),
  expireAt: kinds.nullable(kinds.time),
});

/** The kind of an op. Its payloads must be encoded with the codec of the engine. */
export function opKind(codec: Codec, bytesMax: number): OptionKind<CallerOp> {
  const payload = payloadKind(codec, bytesMax);
  const message = messageKinds(payload);
  const event = eventKinds(payload);
  const control = { runId: kinds.runId, opId: kinds.name };
  const stop = { ...control, reason: failureKind(codec, payload) };
  return kinds.union<CallerOp>({
    start: { run: runKind(payload) },
    send: { post: kinds.union<MessagePost>({ message }) },
    emit: { post: kinds.union<EventPost>({ event }) },
    cancel: stop,
    terminate: stop,
    pause: stop,
    resume: { ...control, epoch: kinds.optional(kinds.integer(0)) as OptionKind<number> },
    letter: { letterId: LETTER_ID, post: kinds.nullable(kinds.union<MessagePost | EventPost>({ message, event })) },
  });
}

function payloadKind(codec: Codec, bytesMax: number): OptionKind<Payload> {
  const allowed = `null or a value that the codec has encoded, of at most ${bytesMax} characters`;
  return {
    ...kinds.nullable(kinds.text),
    allowed,
    read(value, option) {
      const payload = value as Payload;
      if (payload !== null && (payload.length > bytesMax || UNFIT.test(payload) || !isDecodable(codec, payload)))
        throw notAllowed(option, allowed, payload);
      return payload;
    },
  };
}

function isDecodable(codec: Codec, payload: Payload): boolean {
  try {
    codec.decode(payload);
    return true;
  } catch {
    return false;
  }
}

/** The failure of a run that is stopped. */
function failureKind(codec: Codec, payload: OptionKind<Payload>): OptionKind<Payload> {
  return {
    ...payload,
    read(value, option) {
      const failure = payload.read(value, option);
      if (failure === null || isFailure(codec.decode(failure))) return failure;
      throw notAllowed(option, "null or an encoded failure", failure);
    },
  };
}

function runKind(payload: OptionKind<Payload>): OptionKind<NewRun> {
  return kinds.record<NewRun>("the run", {
    id: kinds.runId,
    workflow: kinds.name,
    version: kinds.integer(1),
    input: payload,
    tags: kinds.tags,
    parent: kinds.nullable(PARENT),
    createdAt: kinds.time,
    startId: kinds.runId,
    owner: kinds.nullable(kinds.name),
    startAt: kinds.time,
    limits: kinds.optional(LIMITS) as OptionKind<StartLimits>,
  });
}

function messageKinds(payload: OptionKind<Payload>): OptionKinds<Omit<MessagePost, "kind">> {
  return {
    to: kinds.runId,
    id: kinds.name,
    name: kinds.name,
    value: payload,
    at: kinds.time,
    onTargetTerminated: kinds.oneOf("discard", "broadcast", "deadLetter"),
    from: kinds.nullable(kinds.runId),
  };
}

function eventKinds(payload: OptionKind<Payload>): OptionKinds<Omit<EventPost, "kind">> {
  return {
    topic: kinds.name,
    id: kinds.name,
    value: payload,
    at: kinds.time,
    expireAt: kinds.time,
    deliver: EVENT_KINDS.deliver,
    consume: EVENT_KINDS.consume,
    pendingMax: kinds.integer(1),
  };
}
