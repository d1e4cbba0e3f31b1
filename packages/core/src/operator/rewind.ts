import { PawlError } from "../model/errors.ts";
import type { Failure } from "../model/failure.ts";
import { childEndId, childEndStatus, type InboxEntry } from "../model/inbox.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, NewRecord } from "../model/record.ts";
import { isTerminal, type Payload, type Run, type Undo } from "../model/run.ts";
import type { Post } from "../model/transition.ts";
import { type Cut, type CutRefusal, cutAt, cutBefore } from "../rules/cut-journal.ts";
import type { Loaded, Reader } from "../store/store.ts";
import { withoutSeq } from "./action.ts";

type Entry = Omit<InboxEntry, "n">;

/** The cut, or why there is none, as the caller is told it. */
export function cutOf(runId: string, records: readonly JournalRecord[], at: string | number): Cut {
  if (typeof at !== "string" && !(Number.isSafeInteger(at) && at >= 0)) {
    throw new PawlError("OPTION_INVALID", `run ${runId}: ${String(at)} is neither a location nor the seq of a record`);
  }
  return orThrow(runId, at, cutAt(records, at));
}

function orThrow(runId: string, at: string | number, cut: Cut | CutRefusal): Cut {
  switch (cut.kind) {
    case "cut":
      return cut;
    case "nothingThere":
      throw new PawlError("RECORD_NOT_FOUND", `run ${runId} has no record at ${at}; nothing was changed`);
    case "trimmed":
      throw new PawlError(
        "RECORD_NOT_FOUND",
        `run ${runId}: the state that the loop ${cut.loop} had at ${at} was dropped; go to a later round, or to ${cut.loop} itself`,
      );
    case "undone":
      throw new PawlError(
        "STEP_UNDONE",
        `run ${runId}: ${cut.location} was undone and would be taken as done; go to ${cut.location} or before it`,
      );
    case "stopped":
      throw new PawlError(
        "STEP_UNDONE",
        `run ${runId} was stopped at record ${cut.seq} to undo what it had done; go to a place before that`,
      );
  }
}

/** Where a failed run is tried again: at what made it fail, if that is in its journal; else it goes on from its last record. */
export function retryCut(codec: Codec, run: Run, records: readonly JournalRecord[]): Cut {
  const index = failingIndex(codec, run, records);
  return orThrow(run.id, records[index]?.location ?? "its end", cutBefore(records, index, null));
}

function failingIndex(codec: Codec, run: Run, records: readonly JournalRecord[]): number {
  const failure = run.outcome === null ? null : (codec.decode(run.outcome) as Failure);
  if (failure === null) return records.length;
  const text = textOf(failure);
  const isBranches = failure.code === "JOIN_FAILED" || failure.code === "RACE_FAILED";
  const begun = isBranches ? records.findLastIndex(({ kind }) => kind === "join" || kind === "race") : -1;
  const failing = records.flatMap((record, index) => {
    if (record.outcome !== "failed" || record.kind === "retry" || index < begun) return [];
    const { message } = codec.decode(record.payload) as Failure;
    return message !== "" && text.includes(message) ? [index] : [];
  });
  const index = isBranches ? failing[0] : failing.at(-1);
  if (index === undefined) return records.length;
  const child = records[index];
  if (child?.kind !== "child") return index;
  // A child that has failed is started again, not waited for again.
  return records.findIndex(({ kind, location }) => kind === "spawn" && `${location}/result` === child.location);
}

function textOf(failure: Failure): string {
  return failure.cause === undefined ? failure.message : `${failure.message}\n${textOf(failure.cause)}`;
}

/** The children that were started in these records. */
export function startedIn(records: readonly JournalRecord[]): readonly string[] {
  return records.flatMap(({ kind, detail }) => (kind === "spawn" && detail !== null ? [detail] : []));
}

export function cancelPosts(children: readonly string[], id: string, reason: Payload, at: number): readonly Post[] {
  return children.map((to) => ({ kind: "cancel", to, id: `rewind:${id}`, reason, at }));
}

/** Acts that were done before stay known. */
export function keptActs(cut: Cut): readonly NewRecord[] {
  return cut.dropped.filter(({ kind }) => kind === "operator").map(withoutSeq);
}

/** What the run has to undo after the cut. Which of the steps that stay can be undone is known when they are replayed. */
export function undoAfter({ undo }: Run, { kept }: Cut): Undo {
  return undo === "none" || kept.every(({ kind }) => kind === "operator") ? "none" : "some";
}

export function messagesIn(codec: Codec, records: readonly JournalRecord[]): readonly Entry[] {
  return records.flatMap((record) => receivedEntries(codec, record));
}

/** Children whose start stays, and whose end the run has not heard of in what stays. */
export function awaitedChildren(kept: readonly JournalRecord[]): ReadonlyArray<{ location: string; child: string }> {
  const heard = new Set(kept.filter(({ kind }) => kind === "child").map(({ location }) => location));
  return kept.flatMap(({ kind, location, detail }) =>
    kind === "spawn" && detail !== null && !heard.has(`${location}/result`) ? [{ location, child: detail }] : [],
  );
}

/** The ends of those children, as far as they have ended: a run hears of each once, so it has to be told again. */
export async function endsOf(
  reader: Reader,
  children: ReadonlyArray<{ readonly location: string; readonly child: string }>,
): Promise<{ readonly ends: readonly Entry[]; readonly open: readonly Run[] }> {
  const ends: Entry[] = [];
  const open: Run[] = [];
  for (const { location, child } of children) {
    const run = await reader.get(child);
    if (run === null)
      throw new PawlError(
        "CHILD_GONE",
        `the child ${child} is gone, and its end would be waited for. Nothing was done`,
      );
    if (!isTerminal(run.status)) {
      open.push(run);
      continue;
    }
    const { outcome: value, endedAt, undo } = run;
    const status = childEndStatus(run.status, undo);
    const fixed = { kind: "child", onTargetTerminated: "discard" } as const;
    ends.push({ ...fixed, id: childEndId(location, child), name: location, value, status, at: endedAt ?? 0 });
  }
  return { ends, open };
}

/** The time of an act: never before the record that it follows. */
export function actAt(before: ReadonlyArray<Pick<JournalRecord, "at">>, now: number): number {
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
  /** In records of selects, which do not say it else. */
  readonly kind?: InboxEntry["kind"];
  readonly name?: string;
}

/** The messages and events that a record received, as they lay in the inbox. What becomes of them at the run's end is not kept. */
export function receivedEntries(codec: Codec, record: JournalRecord): ReadonlyArray<Omit<InboxEntry, "n">> {
  if (record.outcome !== "ok") return [];
  if (record.kind !== "listen" && record.kind !== "event" && record.kind !== "select") return [];
  const value = codec.decode(record.payload);
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<Partial<Item> | null | undefined>;
  return items.flatMap((item) => {
    const name = record.kind === "select" ? item?.name : record.detail;
    const kind = record.kind === "select" ? item?.kind : record.kind === "event" ? "event" : "message";
    if (typeof item?.id !== "string" || typeof name !== "string") return [];
    if ((kind !== "message" && kind !== "event") || typeof item.sentAt !== "number") return [];
    const text = codec.encode(item.value, `what ${record.location} received`);
    return [{ kind, id: item.id, name, value: text, status: null, at: item.sentAt, onTargetTerminated: "discard" }];
  });
}
