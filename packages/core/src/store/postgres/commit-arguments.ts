import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { DocumentAttributes, StoredDocument } from "../../model/transition.ts";
import type { EventRow, LetterRow } from "../../rules/tables.ts";
import { toColumn, toColumnOrNull } from "../text-column.ts";
import { collapseSame, columnArray, numberArray, textArray } from "./array-text.ts";
import { createdValues, savedValues } from "./run-columns.ts";
import { detailColumn, outcomeColumn } from "./run-rows.ts";
import type { Stage } from "./stage.ts";
import type { StagedDocument, StagedDocumentTable } from "./staged-documents.ts";
import type { StagedRun } from "./staged-runs.ts";
import { type EventChange, FRESH_NUMBER_MIN } from "./staged-topics.ts";

/** Turns a stage into the arguments of a commit function. Null stands for no rows. */

const COMMIT_ARGUMENTS = Array.from({ length: 35 }, (_, index) => `$${index + 1}`).join(", ");

export const COMMIT_CALL = `SELECT @.commit(${COMMIT_ARGUMENTS})::text AS json`;

/** Also checks that the records do not exist yet. */
export const COMMIT_CHECKED_CALL = `SELECT @.commit_checked(${COMMIT_ARGUMENTS})::text AS json`;

/** Also applies changes of documents other than puts and removals. */
export const COMMIT_DOCUMENTS_CALL = `SELECT @.commit_documents(${COMMIT_ARGUMENTS}, $36)::text AS json`;

export interface CommitExtras {
  /** The current time if the process clock counts. */
  readonly now: number | null;
  /** The latest deadline that the decision depends on. */
  readonly notBefore: number | null;
  readonly channel: string;
  readonly hints: readonly string[];
}

export function commitValues(stage: Stage, { now, notBefore, channel, hints }: CommitExtras): readonly unknown[] {
  const runs: StagedRun[] = [];
  const created: StagedRun[] = [];
  const saved: StagedRun[] = [];
  const seen: string[] = [];
  const revs: number[] = [];
  for (const run of stage.staged.all()) {
    const { known, touched } = run;
    if (touched) runs.push(run);
    if (known === null) created.push(run);
    else if (touched || run.compared) {
      seen.push(run.head.id);
      revs.push(known.rev);
      if (run.saved) saved.push(run);
    }
  }
  return [
    now,
    notBefore,
    columnsOrNull(seen),
    revs.length === 0 ? null : numberArray(collapseSame(revs)),
    ...journalValues(runs, seen),
    columnsOrNull([...stage.workers.needed]),
    jsonOrNull(topicRows(stage)),
    ...createdValues(created),
    jsonOrNull(tagRows(created.concat(saved))),
    ...savedValues(saved),
    ...rowsOfRunsValues(runs),
    jsonOrNull([...stage.stagedTopics.changes].map(([id, change]) => eventRow(id, change))),
    jsonOrNull(seenRows(runs)),
    jsonOrNull(letterRows(stage)),
    jsonOrNull(documentRows(stage.documents)),
    channel,
    hints.length === 0 ? null : textArray(hints),
    columnsOrNull([...stage.staged.childless]),
    ...(stage.documents.isPlain ? [] : [columnsOrNull([...stage.documents.closed])]),
  ];
}

function jsonOrNull(rows: readonly unknown[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

function columnsOrNull(values: readonly string[]): string | null {
  return values.length === 0 ? null : columnArray(values);
}

const NO_JOURNAL: readonly null[] = Array.from({ length: 11 }, () => null);

/** `seen` are the compared runs. If each of them gets exactly one record, and no other run does, their ids are not repeated. */
function journalValues(runs: readonly StagedRun[], seen: readonly string[]): readonly (string | number | null)[] {
  const ids: string[] = [];
  const records: JournalRecord[] = [];
  for (const { head, records: added } of runs) {
    for (const record of added) {
      ids.push(head.id);
      records.push(record);
    }
  }
  const since = records[0]?.at;
  if (since === undefined) return NO_JOURNAL;
  const isSeen = ids.length === seen.length && ids.every((id, index) => id === seen[index]);
  return [
    isSeen ? null : columnArray(ids),
    numberArray(records.map(({ seq }) => seq)),
    columnArray(collapseSame(records.map(({ location }) => location))),
    textArray(collapseSame(records.map(({ kind }) => kind))),
    textArray(collapseSame(records.map(({ outcome }) => outcomeColumn(outcome)))),
    numberArray(collapseSame(records.map(({ attempts }) => attempts))),
    since,
    numberArray(collapseSame(records.map(({ startedAt, at }) => at - startedAt))),
    numberArray(collapseSame(records.map(({ at }) => at - since))),
    textArray(collapseSame(records.map(({ detail }) => detailColumn(detail)))),
    columnArray(records.map(({ payload }) => payload)),
  ];
}

function topicRows(stage: Stage): readonly unknown[] {
  const touched = [...stage.stagedTopics.all()].filter(([, staged]) => staged.touched);
  return touched.map(([topic, { rev, pending }]) => ({ topic: toColumn(topic), rev, pending }));
}

/** A row without a tag removes those of the run: it starts again. */
function tagRows(runs: readonly StagedRun[]): readonly object[] {
  const rows: object[] = [];
  for (const { created, start, known, head } of runs) {
    const run = start ?? created;
    if (run === null) continue;
    const run_id = toColumn(head.id);
    if (known !== null) rows.push({ tag: null, run_id });
    for (const tag of new Set(run.tags)) rows.push({ tag: toColumn(tag), created_at: head.createdAt, run_id });
  }
  return rows;
}

function rowsOfRunsValues(runs: readonly StagedRun[]): readonly unknown[] {
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
    if (run.topics !== null) waits.push({ run_id, topics: [...run.topics].map(toColumn), position: waits.length });
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
  return {
    n: n - FRESH_NUMBER_MIN,
    topic: toColumn(topic),
    at,
    expire_at: expireAt,
    deliver,
    consume,
    pending_max: pendingMax,
  };
}

function seenRows(runs: readonly StagedRun[]): readonly object[] {
  const rows: object[] = [];
  for (const { head, seen } of runs) {
    if (seen === null) continue;
    const run_id = toColumn(head.id);
    for (const [topic, n] of seen) {
      rows.push({
        run_id,
        topic: toColumn(topic),
        n: n > FRESH_NUMBER_MIN ? n - FRESH_NUMBER_MIN : n,
        fresh: n > FRESH_NUMBER_MIN,
      });
    }
  }
  return rows;
}

function letterRows({ letters }: Stage): readonly object[] {
  const removed = [...letters.removed].map((id) => ({ what: "remove", id: toColumn(id) }));
  const added = [...letters.changes.values()].flatMap((letter) => (letter === null ? [] : letterRow(letter)));
  return [...removed, ...added].map((row, index) => ({ ...row, n: index + 1 }));
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

/** A commit of one record of one run has its own function. */

const APPEND_ARGUMENTS = Array.from({ length: 12 }, (_, index) => `$${index + 1}`).join(", ");

export const APPEND_CALL = `SELECT @.append_record(${APPEND_ARGUMENTS})::text AS json`;

/** Null if there is anything else to write. */
export function appendValues(stage: Stage, now: number | null): readonly unknown[] | null {
  const [run] = stage.staged.all();
  const [record] = run?.records ?? [];
  if (run === undefined || run.known === null || record === undefined || !isOnlyRun(stage) || !isOneRecord(run))
    return null;
  const { seq, location, kind, outcome, attempts, startedAt, at, detail, payload } = record;
  const texts = [detailColumn(detail), toColumnOrNull(payload)];
  const row = [seq, toColumn(location), kind, outcomeColumn(outcome), attempts, startedAt, at, ...texts];
  return [now, toColumn(run.head.id), run.known.rev, ...row];
}

function isOnlyRun({ staged, stagedTopics, workers, letters, documents }: Stage): boolean {
  const { changes, closed } = documents;
  const others = [stagedTopics.changes, workers.needed, letters.changes, changes, closed, staged.childless];
  if (staged.size > 1 || others.some(({ size }) => size > 0)) return false;
  for (const [, { touched }] of stagedTopics.all()) if (touched) return false;
  return true;
}

function isOneRecord({ saved, records, cuts, added, taken, topics, seen }: StagedRun): boolean {
  if (saved || records.length > 1 || cuts.length + added.length > 0) return false;
  return taken === null && topics === null && seen === null;
}

/** The changes of documents as rows for the commit functions. */
export function documentRows({ changes }: StagedDocumentTable): readonly object[] {
  return [...changes.values()].map(documentRow);
}

function documentRow(change: StagedDocument): object {
  switch (change.what) {
    case "remove":
      return { what: change.what, kind: toColumn(change.kind), id: toColumn(change.id) };
    case "put":
      return { what: change.what, ...columnsOf(change.document) };
    case "create":
      return { what: change.what, ...columnsOf(change.document), ...prefixed("m", change.marks) };
    case "mark": {
      const { what, kind, id, marks } = change;
      return { what, kind: toColumn(kind), id: toColumn(id), ...prefixed("m", marks) };
    }
    case "revise": {
      const { what, document, seen } = change;
      if (seen === null) return { what: "insert", ...columnsOf(document) };
      const was = { s_run: toColumnOrNull(seen.runId), s_body: toColumnOrNull(seen.body) };
      return { what, ...columnsOf(document), ...was, ...prefixed("s", seen.attributes) };
    }
  }
}

function columnsOf({ kind, id, runId, body, attributes }: StoredDocument): object {
  const { a, b, c, d } = attributes;
  const texts = { kind: toColumn(kind), id: toColumn(id), run_id: toColumnOrNull(runId), body: toColumnOrNull(body) };
  return { ...texts, a: columnOf(a), b: columnOf(b), c: columnOf(c), d: columnOf(d) };
}

function prefixed(prefix: string, attributes: DocumentAttributes): object {
  return Object.fromEntries(
    (["a", "b", "c", "d"] as const).map((name) => [`${prefix}_${name}`, columnOf(attributes[name])]),
  );
}

function columnOf(text: string | undefined): string | null {
  return toColumnOrNull(text ?? null);
}
