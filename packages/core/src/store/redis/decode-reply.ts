import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Parent, Run, StartLimits, Status, TerminalStatus, Undo, Wait } from "../../model/run.ts";
import type { Answer, PostAnswer, StoredDocument, Wake } from "../../model/transition.ts";
import type { Commit } from "../store.ts";
import type { EncodedBatch } from "./encode-batch.ts";
import { fromWire, fromWireOrNull } from "./wire-text.ts";

/** Types and decoders of script replies. Fields are in the order in which the scripts pack them. */

/** A text in wire form. */
type Text = string;

type HeadReply = readonly [
  key: number,
  id: Text,
  workflow: Text,
  version: number,
  startId: Text,
  createdAt: number,
  status: Status,
  epoch: number,
  turn: number,
  owner: Text | null,
  wakeAt: number | null,
  inboxLast: number,
  baseSeq: number,
  generation: number,
  claims: number,
  claimSeq: number,
  startedAt: number | null,
  endedAt: number | null,
  undo: Undo,
];

export type RunReply = readonly [
  head: HeadReply,
  facts: string,
  input: string,
  outcome: string | null,
  wait: string | null,
];

export type EntryReply = readonly [
  n: number,
  kind: InboxEntry["kind"],
  id: Text,
  name: Text,
  value: string,
  status: Text | null,
  at: number,
  policy: InboxEntry["onTargetTerminated"],
];

export type LetterReply = readonly [
  id: Text,
  kind: DeadLetter["kind"],
  target: Text,
  name: Text,
  value: string,
  reason: DeadLetter["reason"],
  status: Text | null,
  sentAt: number,
  deadAt: number,
];

export type DocumentReply = readonly [
  kind: Text,
  id: Text,
  runId: Text | null,
  body: string,
  a: Text | null,
  b: Text | null,
  c: Text | null,
  d: Text | null,
];

type WakeReply = readonly [runId: Text, owner: Text | null, epoch: number, entries: readonly EntryReply[] | null];

/** The oldest messages for each other partition, oldest first. A message is its number and its content. */
export type OutboxReply = readonly (readonly [partition: number, messages: readonly string[]])[];

export type CommitReply = readonly [
  now: number,
  answers: readonly unknown[],
  wakes: readonly WakeReply[],
  outbox: OutboxReply,
  plainAnswers: readonly unknown[],
];

export type DeliveryReply = readonly [
  now: number,
  wakes: readonly WakeReply[],
  outbox: OutboxReply,
  receivedLast: string,
];

function textOrNull(text: Text | null): string | null {
  return text === null ? null : fromWire(text);
}

export function readRun([head, facts, input, outcome, wait]: RunReply): Run {
  const [, id, workflow, version, startId, createdAt, status, epoch, turn, owner, wakeAt, ...rest] = head;
  const [inboxLast, baseSeq, generation, claims, claimSeq, startedAt, endedAt, undo] = rest;
  const [tags, parent = null, limits] = JSON.parse(facts) as [NewRun["tags"], (Parent | null)?, StartLimits?];
  return {
    id: fromWire(id),
    workflow: fromWire(workflow),
    version,
    input: fromWireOrNull(input),
    tags,
    parent,
    createdAt,
    startId: fromWire(startId),
    owner: textOrNull(owner),
    status,
    undo,
    epoch,
    turn,
    wakeAt,
    wait: wait === null || wait === "-" ? null : (JSON.parse(wait.slice(1)) as Wait),
    inboxLast,
    baseSeq,
    generation,
    claims,
    claimSeq,
    startedAt,
    endedAt,
    outcome: fromWireOrNull(outcome),
    ...(limits === undefined ? {} : { limits }),
  };
}

export function readRecords(rows: readonly string[]): JournalRecord[] {
  return rows.map((row) => {
    const [seq, location, kind, outcome, payload, attempts, startedAt, at, detail] = JSON.parse(row) as [
      number,
      JournalRecord["location"],
      JournalRecord["kind"],
      JournalRecord["outcome"],
      JournalRecord["payload"],
      number,
      number,
      number,
      JournalRecord["detail"],
    ];
    return { seq, location, kind, outcome, payload, attempts, startedAt, at, detail };
  });
}

export function readEntry([n, kind, id, name, value, status, at, onTargetTerminated]: EntryReply): InboxEntry {
  return {
    n,
    kind,
    id: fromWire(id),
    name: fromWire(name),
    value: fromWireOrNull(value),
    status: textOrNull(status),
    at,
    onTargetTerminated,
  };
}

export function readLetter(reply: LetterReply): DeadLetter {
  const [id, kind, target, name, value, reason, status, sentAt, deadAt] = reply;
  return {
    id: fromWire(id),
    kind,
    target: fromWire(target),
    name: fromWire(name),
    value: fromWireOrNull(value),
    reason,
    status: textOrNull(status),
    sentAt,
    deadAt,
  };
}

export function readDocument([kind, id, runId, body, a, b, c, d]: DocumentReply): StoredDocument {
  const attributes: { a?: string; b?: string; c?: string; d?: string } = {};
  for (const [name, value] of Object.entries({ a, b, c, d })) {
    if (value !== null) attributes[name as "a"] = fromWire(value);
  }
  return {
    kind: fromWire(kind),
    id: fromWire(id),
    runId: textOrNull(runId),
    body: fromWireOrNull(body),
    attributes,
  };
}

/**
 * `plainAnswers` contains only plain appends that the fast path did not apply: the position among the plain appends, then the answer.
 * All others were applied.
 */
export function readCommit([, answers, wakes, , plainAnswers]: CommitReply, { plain, rest }: EncodedBatch): Commit {
  const all: Answer[] = new Array<Answer>(plain.length + rest.length).fill(APPLIED);
  for (let n = 0; n < plainAnswers.length; n += 2)
    all[plain[(plainAnswers[n] as number) - 1] as number] = readAnswer(plainAnswers[n + 1]);
  for (const [n, answer] of answers.entries()) all[rest[n] as number] = readAnswer(answer);
  return { answers: all, wakes: wakes.map(readWake) };
}

export function readWake([runId, owner, epoch, entries]: WakeReply): Wake {
  return { runId: fromWire(runId), owner: textOrNull(owner), epoch, entries: entries?.map(readEntry) ?? null };
}

const APPLIED: Answer = { kind: "applied", post: null, again: false };
const AGAIN: Answer = { kind: "applied", post: null, again: true };

function readAnswer(reply: unknown): Answer {
  if (reply === 0) return APPLIED;
  if (reply === 1) return AGAIN;
  const [kind, ...rest] = reply as readonly [string, ...unknown[]];
  switch (kind) {
    case "post":
      return { kind: "applied", post: readPostAnswer(rest[1] as string, rest[2]), again: rest[0] === 1 };
    case "notFound":
      return { kind: "refused", reason: "notFound" };
    case "exists":
      return { kind: "refused", reason: "exists", status: rest[0] as Status, epoch: rest[1] as number };
    case "terminal":
      return { kind: "refused", reason: "terminal", status: rest[0] as TerminalStatus };
    case "fenced":
      return { kind: "refused", reason: "fenced", epoch: rest[0] as number };
    case "changed":
      return { kind: "refused", reason: "changed" };
    case "inbox":
      return { kind: "refused", reason: "inbox", inboxLast: rest[0] as number };
    case "moved":
      return { kind: "refused", reason: "moved", seq: rest[0] as number, status: rest[1] as Status };
    case "early":
      return { kind: "refused", reason: "early", now: rest[0] as number };
    default:
      throw new Error(`the records of an append do not follow the newest stored one, ${String(rest[0])}`);
  }
}

function readPostAnswer(kind: string, detail: unknown): PostAnswer {
  switch (kind) {
    case "delivered":
      return { kind, runs: detail as number };
    case "targetTerminated":
      return { kind, status: detail as TerminalStatus };
    default:
      return { kind } as PostAnswer;
  }
}
