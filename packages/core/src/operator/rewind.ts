import { PawlError } from "../model/errors.ts";
import { type Failure, toFailure } from "../model/failure.ts";
import { type InboxEntry, LEFTOVER_POLICY } from "../model/inbox.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, NewRecord } from "../model/record.ts";
import type { Payload, Run, Undo } from "../model/run.ts";
import type { Post } from "../model/transition.ts";
import { type AwaitedChild, childEndEntry } from "../rules/awaited-children.ts";
import { type Cut, type CutRefusal, cutAt, cutBefore } from "../rules/cut-journal.ts";
import type { Loaded, Reader } from "../store/store.ts";
import { withoutSeq } from "./action.ts";

type Entry = Omit<InboxEntry, "n">;

/** Operator actions that cut a journal. The texts are parts of their errors: `cannot rewind run r to x: …; rewind to …`. */
const CUTTING = {
  rewind: { place: "to", remedy: "rewind", to: "to" },
  retry: { place: "from", remedy: "rewind", to: "to" },
  fork: { place: "at", remedy: "fork", to: "at" },
} as const;
export type CuttingKind = keyof typeof CUTTING;

/** The run and the place at which an action cuts its journal. */
interface CutRequest {
  readonly kind: CuttingKind;
  readonly runId: string;
  readonly at: string | number;
}

/** Cuts a journal before the record at a location or seq. Throws if that is not allowed. */
export function cutOf(request: CutRequest, records: readonly JournalRecord[]): Cut {
  return orThrow(request, cutAt(records, request.at));
}

function orThrow({ kind, runId, at }: CutRequest, cut: Cut | CutRefusal): Cut {
  const { place, remedy, to } = CUTTING[kind];
  const cannot = `cannot ${kind} run ${runId}`;
  switch (cut.kind) {
    case "cut":
      return cut;
    case "nothingThere":
      throw new PawlError("RECORD_NOT_FOUND", `run ${runId} has no record at ${at}; choose one from its journal`);
    case "trimmed":
      throw new PawlError(
        "RECORD_NOT_FOUND",
        `${cannot} ${place} ${at}: loop ${cut.loop} has removed that iteration; ${remedy} ${to} a later one or ${to} ${cut.loop}`,
      );
    case "undone":
      throw new PawlError(
        "STEP_UNDONE",
        `${cannot} past ${cut.location}: that step was rolled back; ${remedy} ${to} it or ${to} an earlier record`,
      );
    case "stopped":
      throw new PawlError(
        "STEP_UNDONE",
        `${cannot} ${place} ${at}: it was compensated from record ${cut.seq} on; ${remedy} ${to} an earlier record`,
      );
  }
}

/**
 * Cuts before the record that made the run fail, and before the starts of `fresh` children, which must be started again. If the journal
 * has no such record, nothing is dropped.
 */
export function retryCut(codec: Codec, run: Run, records: readonly JournalRecord[], fresh: ReadonlySet<string>): Cut {
  const starts = records.findIndex(({ kind, detail }) => kind === "spawn" && detail !== null && fresh.has(detail));
  const failing = failingIndex(codec, run, records);
  const index = starts < 0 ? failing : Math.min(starts, failing);
  const at = records[index]?.location ?? "its end";
  return orThrow({ kind: "retry", runId: run.id, at }, cutBefore(records, index, null));
}

/**
 * The index of the first record that made the run fail. Where the program stopped if there is none: a cancelled run has none. A stopped
 * program received nothing after its `compensate` record, which repeats the failure.
 */
function failingIndex(codec: Codec, run: Run, records: readonly JournalRecord[]): number {
  const stopIndex = records.findIndex(({ kind }) => kind === "compensate");
  const end = stopIndex < 0 ? records.length : stopIndex;
  const failure =
    run.status !== "failed" || run.outcome === null
      ? null
      : (codec.decode(run.outcome, `the failure of run ${run.id}`) as Failure);
  if (failure === null) return end;
  const isBranches = failure.code === "JOIN_FAILED" || failure.code === "RACE_FAILED";
  const startIndex = isBranches ? records.findLastIndex(({ kind }) => kind === "join" || kind === "race") : -1;
  const failed = records.slice(0, end).flatMap((record, index) => {
    if (record.outcome !== "failed" || record.kind === "retry" || index < startIndex) return [];
    const { message } = codec.decode(record.payload, `the failure at ${record.location} of run ${run.id}`) as Failure;
    return message === "" ? [] : [{ index, message }];
  });
  const contained = containedFailures(failure);
  const matches = contained.length > 0 ? lastOfEach(failed, contained) : matching(failed, textOf(failure));
  const index = isBranches || contained.length > 0 ? matches[0] : matches.at(-1);
  return index ?? end;
}

interface FailedRecord {
  readonly index: number;
  readonly message: string;
}

function matching(failed: readonly FailedRecord[], text: string): readonly number[] {
  return failed.flatMap(({ index, message }) => (text.includes(message) ? [index] : []));
}

/** For each failure, newest first, the last record with its message. Records before them were handled by the code. */
function lastOfEach(failed: readonly FailedRecord[], failures: readonly Failure[]): readonly number[] {
  const found = new Set<number>();
  for (const failure of [...failures].reverse()) {
    const index = matching(failed, textOf(failure)).findLast((each) => !found.has(each));
    if (index !== undefined) found.add(index);
  }
  return [...found].sort((left, right) => left - right);
}

/** The failures in the `errors` of an AggregateError, also if it is the cause of another error. */
function containedFailures(failure: Failure): readonly Failure[] {
  const errors = failure.details?.errors;
  if (failure.name === "AggregateError" && Array.isArray(errors))
    return errors.flatMap((error: unknown) => {
      const each = toFailure(error);
      const contained = containedFailures(each);
      return contained.length > 0 ? contained : [each];
    });
  return failure.cause === undefined ? [] : containedFailures(failure.cause);
}

function textOf(failure: Failure): string {
  return failure.cause === undefined ? failure.message : `${failure.message}\n${textOf(failure.cause)}`;
}

/** Ids of the children that these records started. */
export function startedIn(records: readonly JournalRecord[]): readonly string[] {
  return records.flatMap(({ kind, detail }) => (kind === "spawn" && detail !== null ? [detail] : []));
}

export function cancelPosts(children: readonly string[], id: string, reason: Payload, at: number): readonly Post[] {
  return children.map((to) => ({ kind: "cancel", to, id: `rewind:${id}`, reason, at }));
}

/** Dropped operator records. They are added again after the cut, so the journal keeps every operator action. */
export function keptActions(cut: Cut): readonly NewRecord[] {
  return cut.dropped.filter(({ kind }) => kind === "operator").map(withoutSeq);
}

/** The undo state after the cut. "some" is an upper bound: replay determines which kept steps have rollbacks. */
export function undoAfter({ undo }: Run, { kept }: Cut): Undo {
  return undo === "none" || kept.every(({ kind }) => kind === "operator") ? "none" : "some";
}

export function messagesIn(codec: Codec, records: readonly JournalRecord[]): readonly Entry[] {
  return records.flatMap((record) => receivedEntries(codec, record));
}

/** Inbox entries for the children that have ended, because each end is delivered only once. And the children that are still open. */
export async function endsOf(
  kind: CuttingKind | "migrate" | "export",
  reader: Reader,
  children: readonly AwaitedChild[],
): Promise<{ readonly ends: readonly Entry[]; readonly open: readonly Run[] }> {
  const ends: Entry[] = [];
  const open: Run[] = [];
  for (const { location, child } of children) {
    const run = await reader.get(child);
    if (run === null)
      throw new PawlError(
        "CHILD_GONE",
        `cannot ${kind}: child ${child} was removed by retention, and the run would wait for it; ${kind === "fork" ? "fork at a record" : "rewind to"} before it was started`,
      );
    const end = childEndEntry({ location, child }, run);
    if (end === null) open.push(run);
    else ends.push(end);
  }
  return { ends, open };
}

/** The time of an operator record. Never before the record that it follows. */
export function actionTime(before: ReadonlyArray<Pick<JournalRecord, "at">>, now: number): number {
  return Math.max(now, before.at(-1)?.at ?? 0);
}

export function seenOf({ run, records }: Pick<Loaded, "run" | "records">): {
  readonly seq: number;
  readonly status: Run["status"];
} {
  return { seq: records.at(-1)?.seq ?? run.baseSeq, status: run.status };
}

interface Item {
  readonly value: unknown;
  readonly id: string;
  readonly sentAt: number;
  /** `kind` and `name` are set only in `select` records. */
  readonly kind?: InboxEntry["kind"];
  readonly name?: string;
}

/** The inbox entries that a record received. Records do not store `onTargetTerminated`, so it becomes the default, which loses nothing. */
export function receivedEntries(codec: Codec, record: JournalRecord): ReadonlyArray<Omit<InboxEntry, "n">> {
  if (record.outcome !== "ok") return [];
  if (record.kind !== "listen" && record.kind !== "event" && record.kind !== "select") return [];
  const value = codec.decode(record.payload, `the value received at ${record.location}`);
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<Partial<Item> | null | undefined>;
  return items.flatMap((item) => {
    const name = record.kind === "select" ? item?.name : record.detail;
    const kind = record.kind === "select" ? item?.kind : record.kind === "event" ? "event" : "message";
    if (typeof item?.id !== "string" || typeof name !== "string") return [];
    if ((kind !== "message" && kind !== "event") || typeof item.sentAt !== "number") return [];
    const text = codec.encode(item.value, `value received at ${record.location}`);
    return [
      { kind, id: item.id, name, value: text, status: null, at: item.sentAt, onTargetTerminated: LEFTOVER_POLICY },
    ];
  });
}
