import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Parent, Run, StartLimits, Wait } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import { runOf } from "../../rules/run-head.ts";
import type { EventRow, LetterRow, OwnedRun, RunHead } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull, toColumn } from "../text-column.ts";
import type { KnownRun } from "./known-rows.ts";

/** Reads rows from the JSON that the database functions return. */

type HeadValues = readonly [
  id: string,
  rev: number,
  status: RunHead["status"],
  epoch: number,
  turn: number,
  owner: string | null,
  wakeAt: number | null,
  createdAt: number,
  startedAt: number | null,
  endedAt: number | null,
  inboxLast: number,
  topics: number,
  baseSeq: number,
  generation: number,
  claims: number,
  claimSeq: number,
  workflow: string,
  version: number,
  startId: string,
  controlId: string | null,
  undo: RunHead["undo"],
];

export type KnownRunValues = readonly [...HeadValues, wait: string | null, newest: number];

export type RunValues = readonly [
  ...HeadValues,
  parentRun: string | null,
  parentLocation: string,
  parentOnClose: Parent["onClose"],
  tags: string | null,
  limits: string | null,
  wait: string | null,
  input: string | null,
  outcome: string | null,
];

const HEAD_LENGTH = 21;

export function headOf(values: readonly [...HeadValues, ...unknown[]]): RunHead {
  const [id, , status, epoch, turn, owner, wakeAt, createdAt, startedAt, endedAt, inboxLast, topics, ...rest] = values;
  const [baseSeq, generation, claims, claimSeq, workflow, version, startId, controlId, undo] = rest;
  return {
    key: 0,
    id: fromColumn(id),
    workflow: fromColumn(workflow),
    version,
    startId: fromColumn(startId),
    createdAt,
    status,
    epoch,
    turn,
    owner: fromColumnOrNull(owner),
    wakeAt,
    inboxLast,
    baseSeq,
    generation,
    claims,
    claimSeq,
    startedAt,
    endedAt,
    undo,
    controlId: fromColumnOrNull(controlId),
    topics,
  };
}

export function waitOf(column: string | null): Wait | null {
  return column === null ? null : (JSON.parse(column) as Wait);
}

export function runOfValues(values: RunValues): Run {
  const [parentRun, parentLocation, parentOnClose, tags, limits, wait, input, outcome] = values.slice(HEAD_LENGTH) as [
    string | null,
    string,
    Parent["onClose"],
    string | null,
    string | null,
    string | null,
    string | null,
    string | null,
  ];
  return runOf(headOf(values), {
    input: fromColumnOrNull(input),
    tags: tags === null ? [] : (JSON.parse(tags) as string[]),
    parent:
      parentRun === null
        ? null
        : { runId: fromColumn(parentRun), location: fromColumn(parentLocation), onClose: parentOnClose },
    wait: waitOf(wait),
    outcome: fromColumnOrNull(outcome),
    ...(limits === null ? {} : { limits: JSON.parse(limits) as StartLimits }),
  });
}

/** A run that was read. `newest` is the newest seq of its journal. */
export function knownOf(values: RunValues, newest: number): KnownRun {
  const head = headOf(values);
  return {
    rev: values[1],
    head,
    wait: waitOf(values[HEAD_LENGTH + 5] as string | null),
    newest,
    inbox: head.inboxLast === 0 ? [] : null,
    firm: false,
  };
}

/** A run that was just claimed. Its `claimSeq` is its newest seq, and only its owner adds records. */
export function claimedOf(values: RunValues): KnownRun {
  return { ...knownOf(values, headOf(values).claimSeq), firm: true };
}

export type EntryValues = readonly [
  runId: string,
  n: number,
  kind: InboxEntry["kind"],
  id: string,
  name: string,
  value: string | null,
  status: string | null,
  at: number,
  policy: InboxEntry["onTargetTerminated"],
];

export function entryOf([, n, kind, id, name, value, status, at, onTargetTerminated]: EntryValues): InboxEntry {
  return {
    n,
    kind,
    id: fromColumn(id),
    name: fromColumn(name),
    value: fromColumnOrNull(value),
    status,
    at,
    onTargetTerminated,
  };
}

export type RecordValues = readonly [
  seq: number,
  location: string,
  kind: JournalRecord["kind"],
  outcome: string,
  payload: string | null,
  attempts: number,
  startedAt: number,
  at: number,
  detail: string,
];

/** The most common outcome and detail are stored as an empty text. A row without NULLs needs no null bitmap. */
const PLAIN = "";
/** Stands for an empty detail. No encoded text consists of this character alone. */
const EMPTY = "\ufffe";

export function outcomeColumn(outcome: JournalRecord["outcome"]): string {
  return outcome === "ok" ? PLAIN : outcome;
}

export function detailColumn(detail: string | null): string {
  return detail === null ? PLAIN : detail === "" ? EMPTY : toColumn(detail);
}

function outcomeOf(column: string): JournalRecord["outcome"] {
  return column === PLAIN ? "ok" : (column as JournalRecord["outcome"]);
}

function detailOf(column: string): string | null {
  if (column === PLAIN) return null;
  return column === EMPTY ? "" : fromColumn(column);
}

export function recordOf(values: RecordValues): JournalRecord {
  const [seq, location, kind, outcome, payload, attempts, startedAt, at, detail] = values;
  return {
    seq,
    location: fromColumn(location),
    kind,
    outcome: outcomeOf(outcome),
    payload: fromColumnOrNull(payload),
    attempts,
    startedAt,
    at,
    detail: detailOf(detail),
  };
}

export interface EventColumns {
  readonly n: number;
  readonly id: string;
  readonly topic: string;
  readonly at: number;
  readonly expire_at: number;
  readonly deliver: EventRow["deliver"];
  readonly consume: EventRow["consume"];
  readonly pending_max: number;
  readonly pending: boolean;
  readonly received: boolean;
  readonly holder: string | null;
  readonly value: string | null;
}

export function eventOf(row: EventColumns): EventRow {
  return {
    n: row.n,
    id: fromColumn(row.id),
    topic: fromColumn(row.topic),
    value: fromColumnOrNull(row.value),
    at: row.at,
    expireAt: row.expire_at,
    deliver: row.deliver,
    consume: row.consume,
    pendingMax: row.pending_max,
    pending: row.pending,
    received: row.received,
    holder: fromColumnOrNull(row.holder),
  };
}

export interface LetterColumns {
  readonly n: number;
  readonly id: string;
  readonly kind: LetterRow["kind"];
  readonly post_id: string;
  readonly target: string;
  readonly name: string;
  readonly reason: LetterRow["reason"];
  readonly status: string | null;
  readonly sent_at: number;
  readonly dead_at: number;
  readonly value: string | null;
}

export function letterOf(row: LetterColumns): LetterRow {
  return {
    id: fromColumn(row.id),
    kind: row.kind,
    target: fromColumn(row.target),
    name: fromColumn(row.name),
    value: fromColumnOrNull(row.value),
    reason: row.reason,
    status: row.status,
    sentAt: row.sent_at,
    deadAt: row.dead_at,
    postId: fromColumn(row.post_id),
  };
}

export interface DocumentColumns {
  readonly kind: string;
  readonly id: string;
  readonly run_id: string | null;
  readonly a: string | null;
  readonly b: string | null;
  readonly c: string | null;
  readonly d: string | null;
  readonly body: string | null;
}

export function documentOf(row: DocumentColumns): StoredDocument {
  const attributes: { a?: string; b?: string; c?: string; d?: string } = {};
  for (const name of ["a", "b", "c", "d"] as const) {
    const value = row[name];
    if (value !== null) attributes[name] = fromColumn(value);
  }
  return {
    kind: fromColumn(row.kind),
    id: fromColumn(row.id),
    runId: fromColumnOrNull(row.run_id),
    body: fromColumnOrNull(row.body),
    attributes,
  };
}

export function ownedRunsOf(rows: unknown): readonly OwnedRun[] {
  return ((rows ?? []) as [string, number][]).map(([id, epoch]) => ({ id: fromColumn(id), epoch }));
}
