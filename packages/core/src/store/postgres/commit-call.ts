import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { EventRow, LetterRow } from "../tables.ts";
import { toColumn, toColumnOrNull } from "../text-column.ts";
import { numberArray, textArray } from "./array-text.ts";
import { documentRows } from "./document-rows.ts";
import { detailColumn, outcomeColumn } from "./run-rows.ts";
import type { Stage } from "./stage.ts";
import type { StagedRun } from "./staged-run.ts";
import { type EventChange, FRESH } from "./staged-topics.ts";

/** What a stage has gathered, as the arguments of the function that writes it: null where there is nothing. */

const ARGUMENTS = Array.from({ length: 30 }, (_, index) => `$${index + 1}`).join(", ");

export const COMMIT_CALL = `SELECT @.commit_10(${ARGUMENTS})::text AS json`;

/** With a look whether the records are there already. */
export const COMMIT_CHECKED_CALL = `SELECT @.commit_checked_10(${ARGUMENTS})::text AS json`;

/** The same, with more than puts and removals of documents. */
export const COMMIT_DOCUMENTS_CALL = `SELECT @.commit_documents_10(${ARGUMENTS}, $31)::text AS json`;

export interface CommitExtras {
  /** The present, where the caller's clock counts. */
  readonly now: number | null;
  /** The latest deadline that decisions rest on. */
  readonly notBefore: number | null;
  readonly channel: string;
  readonly hints: readonly string[];
}

export function commitValues(stage: Stage, { now, notBefore, channel, hints }: CommitExtras): readonly unknown[] {
  const runs: StagedRun[] = [];
  const seen: string[] = [];
  const revs: number[] = [];
  for (const run of stage.staged.all()) {
    if (run.touched) runs.push(run);
    if (run.known === null || !(run.touched || run.compared)) continue;
    seen.push(toColumn(run.head.id));
    revs.push(run.known.rev);
  }
  return [
    now,
    notBefore,
    textsOrNull(seen),
    revs.length === 0 ? null : numberArray(revs),
    ...journalValues(runs),
    textsOrNull([...stage.workers.needed].map(toColumn)),
    jsonOrNull(topicRows(stage)),
    ...runValues(runs),
    ...belongingValues(runs),
    jsonOrNull([...stage.stagedTopics.changes].map(([id, change]) => eventRow(id, change))),
    jsonOrNull(seenRows(runs)),
    jsonOrNull(letterRows(stage)),
    jsonOrNull(documentRows(stage.documents)),
    channel,
    textsOrNull(hints),
    textsOrNull([...stage.staged.childless].map(toColumn)),
    ...(stage.documents.isPlain ? [] : [textsOrNull([...stage.documents.closed].map(toColumn))]),
  ];
}

function jsonOrNull(rows: readonly unknown[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

function textsOrNull(values: readonly string[]): string | null {
  return values.length === 0 ? null : textArray(values);
}

const NO_JOURNAL: readonly null[] = Array.from({ length: 10 }, () => null);

function journalValues(runs: readonly StagedRun[]): readonly (string | null)[] {
  const ids: string[] = [];
  const records: JournalRecord[] = [];
  for (const { head, records: added } of runs) {
    if (added.length === 0) continue;
    const id = toColumn(head.id);
    for (const record of added) {
      ids.push(id);
      records.push(record);
    }
  }
  if (records.length === 0) return NO_JOURNAL;
  return [
    textArray(ids),
    numberArray(records.map(({ seq }) => seq)),
    textArray(records.map(({ location }) => toColumn(location))),
    textArray(once(records.map(({ kind }) => kind))),
    textArray(once(records.map(({ outcome }) => outcomeColumn(outcome)))),
    numberArray(once(records.map(({ attempts }) => attempts))),
    numberArray(records.map(({ startedAt }) => startedAt)),
    numberArray(records.map(({ at }) => at)),
    textArray(once(records.map(({ detail }) => detailColumn(detail)))),
    textArray(records.map(({ payload }) => toColumnOrNull(payload))),
  ];
}

/** What is the same for all records, as it mostly is, is sent once. */
function once<Value>(values: readonly Value[]): readonly Value[] {
  const [first] = values;
  return values.every((value) => value === first) ? values.slice(0, 1) : values;
}

function topicRows(stage: Stage): readonly unknown[] {
  const touched = [...stage.stagedTopics.all()].filter(([, staged]) => staged.touched);
  return touched.map(([topic, { rev, pending }]) => ({ topic: toColumn(topic), rev, pending }));
}

function runValues(runs: readonly StagedRun[]): readonly unknown[] {
  const created = runs.filter(({ known }) => known === null);
  const saved = runs.filter(({ known, saved }) => known !== null && saved);
  const tags = created.flatMap(({ created: run, head }) =>
    [...new Set(run?.tags ?? [])].map((tag) => ({
      tag: toColumn(tag),
      created_at: head.createdAt,
      run_id: toColumn(head.id),
    })),
  );
  return [jsonOrNull(created.map(createdRow)), jsonOrNull(tags), jsonOrNull(saved.map(savedRow))];
}

/** Columns of a row in JSON: one that is undefined is not written, and read as NULL. */
function createdRow({ head, created, wait, outcome, input }: StagedRun, index: number): object {
  const parent = created?.parent ?? undefined;
  const tags = created?.tags ?? [];
  return {
    place: index + 1,
    id: toColumn(head.id),
    undo: head.undo,
    status: head.status,
    epoch: head.epoch,
    turn: head.turn,
    owner: columnOf(head.owner),
    wake_at: head.wakeAt ?? undefined,
    created_at: head.createdAt,
    started_at: head.startedAt ?? undefined,
    ended_at: head.endedAt ?? undefined,
    inbox_last: head.inboxLast,
    topics: head.topics,
    base_seq: head.baseSeq,
    generation: head.generation,
    claims: head.claims,
    claim_seq: head.claimSeq,
    workflow: toColumn(head.workflow),
    version: head.version,
    start_id: toColumn(head.startId),
    control_id: columnOf(head.controlId),
    parent_run: columnOf(parent?.runId),
    parent_location: columnOf(parent?.location),
    parent_on_close: parent?.onClose,
    tags: tags.length === 0 ? undefined : JSON.stringify(tags),
    wait: wait === null ? undefined : JSON.stringify(wait),
    input: columnOf(input === null ? created?.input : input.value),
    outcome: columnOf(outcome?.value),
  };
}

function savedRow({ head, wait, setsWait, outcome, input }: StagedRun): object {
  return {
    id: toColumn(head.id),
    undo: head.undo,
    status: head.status,
    epoch: head.epoch,
    turn: head.turn,
    owner: columnOf(head.owner),
    wake_at: head.wakeAt ?? undefined,
    started_at: head.startedAt ?? undefined,
    ended_at: head.endedAt ?? undefined,
    inbox_last: head.inboxLast,
    topics: head.topics,
    base_seq: head.baseSeq,
    generation: head.generation,
    claims: head.claims,
    claim_seq: head.claimSeq,
    workflow: toColumn(head.workflow),
    version: head.version,
    control_id: columnOf(head.controlId),
    sets_wait: setsWait || undefined,
    wait: setsWait && wait !== null ? JSON.stringify(wait) : undefined,
    sets_outcome: outcome === null ? undefined : true,
    outcome: columnOf(outcome?.value),
    sets_input: input === null ? undefined : true,
    input: columnOf(input?.value),
  };
}

function columnOf(text: string | null | undefined): string | undefined {
  return text === null || text === undefined ? undefined : toColumn(text);
}

function belongingValues(runs: readonly StagedRun[]): readonly unknown[] {
  const cuts: object[] = [];
  const inbox: object[] = [];
  const taken: object[] = [];
  const waits: object[] = [];
  for (const run of runs) {
    const { known } = run;
    if (run.cuts.length + run.added.length === 0 && run.taken === null && run.topics === null) continue;
    const run_id = toColumn(run.head.id);
    if (known !== null) for (const { first, last } of run.cuts) cuts.push({ run_id, first, last });
    for (const entry of run.added)
      inbox.push({ ...inboxRow(run_id, entry), ...(run.restored?.has(entry.n) ? { again: true } : {}) });
    for (const n of run.taken ?? []) taken.push({ run_id, first: n, last: n });
    if (run.topics !== null) waits.push({ run_id, topics: [...run.topics].map(toColumn), place: waits.length });
  }
  return [cuts, inbox, taken, waits].map(jsonOrNull);
}

function inboxRow(run_id: string, { n, kind, id, name, status, at, onTargetTerminated, value }: InboxEntry): object {
  const texts = { id: toColumn(id), name: toColumn(name), value: toColumnOrNull(value) };
  return { run_id, n, kind, status, at, policy: onTargetTerminated, ...texts };
}

function eventRow(id: string, change: EventChange): object {
  const key = { id: toColumn(id), what: change.what };
  if (change.what === "remove") return key;
  const { pending, received, holder, value } = change.event;
  const state = { ...key, pending, received, holder: toColumnOrNull(holder), value: toColumnOrNull(value) };
  return change.what === "save" ? state : { ...state, ...eventFacts(change.event) };
}

function eventFacts({ n, topic, at, expireAt, deliver, consume, pendingMax }: EventRow): object {
  return { n: n - FRESH, topic: toColumn(topic), at, expire_at: expireAt, deliver, consume, pending_max: pendingMax };
}

function seenRows(runs: readonly StagedRun[]): readonly object[] {
  return runs.flatMap(({ head, seen }) =>
    [...(seen ?? [])].map(([topic, n]) => ({
      run_id: toColumn(head.id),
      topic: toColumn(topic),
      n: n > FRESH ? n - FRESH : n,
      fresh: n > FRESH,
    })),
  );
}

function letterRows({ letters }: Stage): readonly object[] {
  const removed = [...letters.removed].map((id) => ({ what: "remove", id: toColumn(id) }));
  const added = [...letters.changes.values()].flatMap((letter) => (letter === null ? [] : letterRow(letter)));
  return [...removed, ...added].map((row, index) => ({ ...row, place: index + 1 }));
}

function letterRow({ id, kind, postId, target, name, reason, status, sentAt, deadAt, value }: LetterRow): object {
  const texts = { id: toColumn(id), post_id: toColumn(postId), target: toColumn(target), name: toColumn(name) };
  return {
    what: "insert",
    ...texts,
    kind,
    reason,
    status,
    sent_at: sentAt,
    dead_at: deadAt,
    value: toColumnOrNull(value),
  };
}
