import type { EventRow } from "../../rules/tables.ts";
import { fromColumn, toColumn } from "../text-column.ts";
import { type KnownRows, type KnownTopic, pairKey, type RowsToRead } from "./known-rows.ts";
import {
  type DocumentColumns,
  documentOf,
  type EntryValues,
  type EventColumns,
  entryOf,
  eventOf,
  headOf,
  type KnownRunValues,
  type LetterColumns,
  letterOf,
  waitOf,
} from "./run-rows.ts";

/** Turns wanted keys into arguments of `read_rows`, and its answer into known rows. */

export const ROWS_CALL = "SELECT @.read_rows($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)::text AS json";

export const LOCK_CALL = "SELECT @.lock_rows($1, $2)::text AS json";

export function rowsValues(wanted: RowsToRead, now: number | null): readonly unknown[] {
  return [
    now,
    columns(wanted.runs),
    columns(wanted.inboxes),
    json(
      [...wanted.known.values()].map(({ runId, kind, id }) => ({ run_id: toColumn(runId), kind, id: toColumn(id) })),
    ),
    json([...wanted.topics].map(([topic, depth]) => ({ topic: toColumn(topic), depth }))),
    columns(wanted.events),
    columns(wanted.children),
    columns(wanted.letters),
    json([...wanted.seen.values()].map(({ runId, topic }) => ({ run_id: toColumn(runId), topic: toColumn(topic) }))),
    json([...wanted.floors.values()].map(({ runId, seq }) => ({ run_id: toColumn(runId), seq }))),
  ];
}

function columns(texts: ReadonlySet<string>): readonly string[] {
  return [...texts].map(toColumn);
}

function json(rows: readonly object[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

export function documentsValues({ documents }: RowsToRead): readonly unknown[] {
  const wanted = [...documents.values()];
  return [wanted.map(({ kind }) => toColumn(kind)), wanted.map(({ id }) => toColumn(id))];
}

export function learnDocuments(rows: KnownRows, wanted: RowsToRead, found: readonly DocumentColumns[] | null): void {
  for (const key of wanted.documents.keys()) rows.documents.set(key, null);
  for (const document of (found ?? []).map(documentOf))
    rows.documents.set(pairKey(document.kind, document.id), document);
}

/** Fields that were not requested may be missing. */
export interface RowsAnswer {
  readonly now: number;
  readonly runs: readonly KnownRunValues[] | null;
  readonly waiters?: readonly (readonly [topic: string, runId: string])[] | null;
  readonly children?: readonly (readonly [parent: string, runId: string])[] | null;
  readonly inboxes?: readonly EntryValues[] | null;
  readonly known?: readonly (readonly [runId: string, kind: string, id: string])[] | null;
  readonly topics?: readonly (readonly [topic: string, rev: number, pending: number])[] | null;
  readonly pending?: readonly EventColumns[] | null;
  readonly events?: readonly EventColumns[] | null;
  readonly letters?: readonly LetterColumns[] | null;
  readonly seen?: readonly (readonly [runId: string, topic: string, n: number])[] | null;
  readonly floors?: readonly (readonly [runId: string, seq: number, newest: number])[] | null;
}

/** Records every wanted row as known, including the ones that do not exist. */
export function learnRows(rows: KnownRows, wanted: RowsToRead, answer: RowsAnswer): void {
  rows.now = answer.now;
  for (const runId of wanted.runs) rows.runs.set(runId, null);
  for (const values of answer.runs ?? []) {
    const head = headOf(values);
    rows.runs.set(head.id, {
      rev: values[1],
      head,
      wait: waitOf(values[21]),
      newest: values[22],
      inbox: null,
      firm: false,
    });
  }
  learnRowsOfRuns(rows, wanted, answer);
  const waiters = grouped(answer.waiters ?? []);
  const events = (answer.pending ?? []).map(eventOf);
  const revs = new Map((answer.topics ?? []).map(([topic, rev, pending]) => [fromColumn(topic), { rev, pending }]));
  for (const [topic, depth] of wanted.topics) {
    const { rev = 0, pending = 0 } = revs.get(topic) ?? {};
    const known: KnownTopic = {
      rev,
      pending,
      depth,
      waiters: waiters.get(topic) ?? [],
      events: ofTopic(events, topic),
    };
    rows.topics.set(topic, known);
  }
  for (const id of wanted.events) rows.events.set(id, null);
  for (const event of [...events, ...(answer.events ?? []).map(eventOf)]) rows.events.set(event.id, event);
  for (const id of wanted.letters) rows.letters.set(id, null);
  for (const letter of (answer.letters ?? []).map(letterOf)) rows.letters.set(letter.id, letter);
}

function learnRowsOfRuns(rows: KnownRows, wanted: RowsToRead, answer: RowsAnswer): void {
  const inboxes = new Map([...wanted.inboxes].map((runId) => [runId, [] as ReturnType<typeof entryOf>[]]));
  for (const values of answer.inboxes ?? []) inboxes.get(fromColumn(values[0]))?.push(entryOf(values));
  for (const [runId, entries] of inboxes) rows.inboxes.set(runId, entries);
  for (const key of wanted.known.keys()) rows.known.set(key, false);
  for (const [runId, kind, id] of answer.known ?? []) {
    rows.known.set(pairKey(fromColumn(runId), kind, fromColumn(id)), true);
  }
  const children = grouped(answer.children ?? []);
  for (const parent of wanted.children) rows.children.set(parent, children.get(parent) ?? []);
  for (const key of wanted.seen.keys()) rows.seen.set(key, 0);
  for (const [runId, seq, newest] of answer.floors ?? [])
    rows.floors.set(pairKey(fromColumn(runId), String(seq)), newest);
  for (const [runId, topic, n] of answer.seen ?? []) rows.seen.set(pairKey(fromColumn(runId), fromColumn(topic)), n);
}

function ofTopic(events: readonly EventRow[], topic: string): readonly EventRow[] {
  return events.filter((event) => event.topic === topic);
}

function grouped(pairs: readonly (readonly [key: string, value: string])[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, value] of pairs) {
    const group = groups.get(fromColumn(key));
    if (group === undefined) groups.set(fromColumn(key), [fromColumn(value)]);
    else group.push(fromColumn(value));
  }
  return groups;
}
