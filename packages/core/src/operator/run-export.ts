import { PawlError } from "../model/errors.ts";
import { isFailure } from "../model/failure.ts";
import type { InboxEntry } from "../model/inbox.ts";
import { kinds, openTable, readArgument } from "../model/option-check.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import { textOf } from "../model/payload-values.ts";
import { type JournalRecord, RECORD_KINDS } from "../model/record.ts";
import { type Parent, type Payload, STATUSES, type StartLimits, type Status, type Undo } from "../model/run.ts";
import type { WholeRun } from "./action.ts";

/** Runs as JSON data. Every store can import it. */
export interface RunExport {
  readonly format: "pawl.run";
  readonly version: 1;
  readonly exportedAt: number;
  /** The exported run first, then its descendants. */
  readonly runs: readonly ExportedRun[];
}

/** A run with its journal and its inbox. An absent `input`, `outcome` or `value` means `undefined`. */
export interface ExportedRun {
  readonly id: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: Status;
  readonly input?: unknown;
  readonly outcome?: unknown;
  readonly tags: readonly string[];
  readonly parent: Parent | null;
  readonly startId: string;
  readonly createdAt: number;
  /** The start time of a pending run. Null otherwise. */
  readonly startAt: number | null;
  /** Omitted if its start set none. */
  readonly limits?: StartLimits;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly generation: number;
  readonly baseSeq: number;
  readonly undo: Undo;
  readonly records: readonly ExportedRecord[];
  readonly inbox: readonly ExportedEntry[];
  /** The state of the program after the record with this seq. `records` also contains the earlier records. */
  readonly snapshot?: ExportedSnapshot;
}

export interface ExportedSnapshot {
  readonly seq: number;
  readonly value?: unknown;
}

export type ExportedRecord = Omit<JournalRecord, "payload"> & { readonly value?: unknown };
export type ExportedEntry = Omit<InboxEntry, "n" | "value"> & { readonly value?: unknown };

/** Converts payloads to values of an export, and back. */
export interface Values {
  /** Throws `PAYLOAD_UNREADABLE`, with `what` in the message, if the payload cannot be read with the codec. */
  out(payload: Payload, what: string): { readonly value?: unknown };
  in(value: unknown): Payload;
  /** As `in`, for the failure of a record or a run. */
  failureIn(value: unknown): Payload;
}

const BYTES_MAX = Number.MAX_SAFE_INTEGER;

/** An export contains decoded values: with an encrypting codec hook, the export is plain text. */
export function exportValues(hook: CodecHook | null): Values {
  const limits = { bytesMax: BYTES_MAX, warnBytes: BYTES_MAX, onLarge: () => undefined };
  const plain = createCodec(null, limits);
  const hooked: Codec = hook === null ? plain : createCodec(hook, limits);
  const inward = (value: unknown): { readonly payload: Payload; readonly decoded: unknown } => {
    if (value === undefined) return { payload: null, decoded: undefined };
    const text = JSON.stringify(value);
    const decoded = decodedBy(plain, text);
    return { payload: hook === null ? text : hooked.encode(decoded, "a value"), decoded };
  };
  return {
    out(payload, what) {
      const value = hooked.decode(payload, what);
      const text = hook === null ? payload : plain.encode(value, "a value");
      return text === null ? {} : { value: JSON.parse(text) as unknown };
    },
    in: (value) => inward(value).payload,
    failureIn(value) {
      const { payload, decoded } = inward(value);
      if (payload === null || isFailure(decoded)) return payload;
      throw invalid("the failure of a record or of a run is not one");
    },
  };
}

function decodedBy(plain: Codec, text: string): unknown {
  try {
    return plain.decode(text);
  } catch (cause) {
    throw invalid(`a value of the export cannot be decoded: ${textOf(cause)}`, { cause });
  }
}

export function exportedRun(
  values: Values,
  { run, records, snapshot }: Pick<WholeRun, "run" | "records" | "snapshot">,
  inbox: ReadonlyArray<Omit<InboxEntry, "n">>,
): ExportedRun {
  const { id, workflow, version, status, tags, parent, startId, createdAt, startedAt, endedAt, generation, undo } = run;
  const of = (what: string): string => `${what} of run ${id}`;
  const input = values.out(run.input, of("the input"));
  const outcome = values.out(run.outcome, of("the outcome"));
  return {
    ...{ id, workflow, version, status },
    ...("value" in input ? { input: input.value } : {}),
    ...("value" in outcome ? { outcome: outcome.value } : {}),
    ...{ tags, parent, startId, createdAt, startAt: status === "pending" ? run.wakeAt : null, startedAt, endedAt },
    ...{ generation, baseSeq: run.baseSeq, undo },
    ...(run.limits === undefined ? {} : { limits: run.limits }),
    records: records.map(({ payload, ...record }) => ({
      ...record,
      ...values.out(payload, of(`record ${record.seq} at ${record.location}`)),
    })),
    inbox: inbox.map(({ value, ...entry }) => ({
      ...withoutNumber(entry),
      ...values.out(value, of(`the ${entry.kind} ${entry.name} in the inbox`)),
    })),
    ...(snapshot === null
      ? {}
      : { snapshot: { seq: Number(snapshot.attributes.a), ...values.out(snapshot.body, of("the snapshot")) } }),
  };
}

function withoutNumber(entry: Omit<InboxEntry, "n" | "value">): ExportedEntry {
  const { kind, id, name, status, at, onTargetTerminated } = entry;
  return { kind, id, name, status, at, onTargetTerminated };
}

/** Parses and checks an export. Checks the shape of records, not their content: replay does that. */
export function readExport(given: unknown): RunExport {
  const data = plainData(given) as Partial<RunExport> | null | undefined;
  if (typeof data !== "object" || data === null || data.format !== "pawl.run")
    throw invalid('the value is not an exported run: its format is not "pawl.run"');
  if (data.version !== 1) throw invalid(`the export has version ${String(data.version)}; this release reads version 1`);
  if (!Array.isArray(data.runs) || data.runs.length === 0) throw invalid("the export contains no runs");
  const runs = data.runs.map(checkedRun);
  return { format: "pawl.run", version: 1, exportedAt: Number(data.exportedAt), runs };
}

/** The data that remains of a value in JSON: an export is JSON. */
function plainData(given: unknown): unknown {
  try {
    return JSON.parse(typeof given === "string" ? given : (JSON.stringify(given) ?? "null")) as unknown;
  } catch (cause) {
    throw invalid(`the export is not valid JSON: ${textOf(cause)}`, { cause });
  }
}

const RECORD = kinds.options(
  openTable<ExportedRecord>("the record", {
    seq: kinds.required(kinds.integer(1)),
    location: kinds.required(kinds.text),
    kind: kinds.required(kinds.oneOf(...RECORD_KINDS)),
    outcome: kinds.required(kinds.oneOf("ok", "failed", "timedOut")),
    value: kinds.value,
    attempts: kinds.required(kinds.integer(0)),
    startedAt: kinds.required(kinds.time),
    at: kinds.required(kinds.time),
    detail: kinds.required(kinds.nullable(kinds.text)),
  }),
);

const ENTRY = kinds.options(
  openTable<ExportedEntry>("the inbox entry", {
    kind: kinds.required(kinds.oneOf("message", "event", "child", "cancel")),
    id: kinds.required(kinds.text),
    name: kinds.required(kinds.text),
    value: kinds.value,
    status: kinds.required(kinds.nullable(kinds.text)),
    at: kinds.required(kinds.time),
    onTargetTerminated: kinds.required(kinds.oneOf("discard", "broadcast", "deadLetter")),
  }),
);

const PARENT = kinds.options(
  openTable<Parent>("the parent", {
    runId: kinds.required(kinds.runId),
    location: kinds.required(kinds.text),
    onClose: kinds.required(kinds.oneOf("cancel", "abandon")),
  }),
);

const NULLABLE_TIME = kinds.required(kinds.nullable(kinds.time));

const LIMITS = kinds.options(
  openTable<StartLimits>("the limits", { deadlineAt: NULLABLE_TIME, expireAt: NULLABLE_TIME }),
);

const RUN = kinds.options(
  openTable<ExportedRun>("the run", {
    id: kinds.required(kinds.runId),
    workflow: kinds.required(kinds.name),
    version: kinds.required(kinds.integer(1)),
    status: kinds.required(kinds.oneOf(...STATUSES)),
    input: kinds.value,
    outcome: kinds.value,
    tags: kinds.required(kinds.tags),
    parent: kinds.required(kinds.nullable(PARENT)),
    startId: kinds.required(kinds.text),
    createdAt: kinds.required(kinds.time),
    startAt: NULLABLE_TIME,
    limits: LIMITS,
    startedAt: NULLABLE_TIME,
    endedAt: NULLABLE_TIME,
    generation: kinds.required(kinds.integer(0)),
    baseSeq: kinds.required(kinds.integer(0)),
    undo: kinds.required(kinds.oneOf("none", "some", "underWay")),
    records: kinds.required(kinds.list(RECORD, { max: Number.MAX_SAFE_INTEGER })),
    inbox: kinds.required(kinds.list(ENTRY, { max: Number.MAX_SAFE_INTEGER })),
    snapshot: kinds.options(
      openTable<ExportedSnapshot>("the snapshot", { seq: kinds.required(kinds.integer(0)), value: kinds.value }),
    ),
  }),
);

function checkedRun(given: unknown, index: number): ExportedRun {
  try {
    const run = readArgument(RUN, given, `runs[${index}]`);
    checkSeqs(run.id, run);
    return run;
  } catch (cause) {
    if (!(cause instanceof PawlError) || cause.code === "EXPORT_INVALID") throw cause;
    throw invalid(cause.message, { cause });
  }
}

/** Seqs increase. Gaps are allowed, because loops remove records. */
function checkSeqs(runId: string, { baseSeq, records, snapshot }: ExportedRun): void {
  let last = baseSeq;
  for (const { seq } of records) {
    if (seq <= last) throw invalid(`the records of run ${runId} are not in order: seq ${seq} follows ${last}`);
    last = seq;
  }
  if (snapshot === undefined) return;
  if (snapshot.seq < baseSeq || snapshot.seq > last)
    throw invalid(`the snapshot of run ${runId} refers to record ${snapshot.seq}, which is not in the export`);
}

function invalid(why: string, options?: ErrorOptions): PawlError {
  return new PawlError("EXPORT_INVALID", `${why}; nothing was changed`, options);
}
