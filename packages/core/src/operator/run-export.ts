import { PawlError } from "../model/errors.ts";
import type { InboxEntry } from "../model/inbox.ts";
import { checkTarget } from "../model/names.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { type Parent, type Payload, STATUSES, type Status, type Undo } from "../model/run.ts";
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
}

const BYTES_MAX = Number.MAX_SAFE_INTEGER;

/** An export contains decoded values: with an encrypting codec hook, the export is plain text. */
export function exportValues(hook: CodecHook | null): Values {
  const limits = { bytesMax: BYTES_MAX, warnBytes: BYTES_MAX, onLarge: () => undefined };
  const plain = createCodec(null, limits);
  const hooked: Codec = hook === null ? plain : createCodec(hook, limits);
  return {
    out(payload, what) {
      const value = hooked.decode(payload, what);
      const text = hook === null ? payload : plain.encode(value, "a value");
      return text === null ? {} : { value: JSON.parse(text) as unknown };
    },
    in(value) {
      if (value === undefined) return null;
      const text = JSON.stringify(value);
      return hook === null ? text : hooked.encode(plain.decode(text), "a value");
    },
  };
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
  const data = (typeof given === "string" ? parsed(given) : given) as Partial<RunExport> | null;
  if (typeof data !== "object" || data === null || data.format !== "pawl.run")
    throw invalid('the value is not an exported run: its format is not "pawl.run"');
  if (data.version !== 1) throw invalid(`the export has version ${String(data.version)}; this release reads version 1`);
  if (!Array.isArray(data.runs) || data.runs.length === 0) throw invalid("the export contains no runs");
  for (const run of data.runs as readonly unknown[]) checkRun(run);
  return data as RunExport;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw invalid(`the export is not valid JSON: ${String(cause)}`, { cause });
  }
}

const NUMBERS = ["version", "createdAt", "generation", "baseSeq"] as const;
const UNDOS: readonly unknown[] = ["none", "some", "underWay"] satisfies readonly Undo[];

function checkRun(given: unknown): void {
  if (typeof given !== "object" || given === null) throw invalid("an entry of runs is not an object");
  const run = given as Record<string, unknown>;
  const id = checkTarget(run.id);
  if (typeof run.workflow !== "string" || typeof run.startId !== "string")
    throw invalid(`run ${id} has no workflow or no startId`);
  if (!(STATUSES as readonly unknown[]).includes(run.status))
    throw invalid(`run ${id} has unknown status ${String(run.status)}`);
  if (!UNDOS.includes(run.undo))
    throw invalid(`undo of run ${id} must be one of ${UNDOS.join(", ")}; got ${String(run.undo)}`);
  for (const name of NUMBERS)
    if (!Number.isSafeInteger(run[name]))
      throw invalid(`${name} of run ${id} must be an integer; got ${String(run[name])}`);
  for (const name of ["records", "inbox", "tags"] as const)
    if (!Array.isArray(run[name])) throw invalid(`${name} of run ${id} is not an array`);
  for (const record of run.records as readonly unknown[]) checkRecord(id, record);
  checkSeqs(id, run as unknown as ExportedRun);
  for (const entry of run.inbox as readonly unknown[]) checkEntry(id, entry);
}

function checkRecord(runId: string, given: unknown): void {
  const { seq, location, kind, outcome, attempts, startedAt, at } = (given ?? {}) as Partial<ExportedRecord>;
  const texts = [location, kind, outcome].every((text) => typeof text === "string");
  const numbers = [seq, attempts, startedAt, at].every((number) => Number.isFinite(number));
  if (!texts || !numbers) throw invalid(`a record of run ${runId} has missing or invalid fields`);
}

/** Seqs increase. Gaps are allowed, because loops remove records. */
function checkSeqs(runId: string, { baseSeq, records, snapshot }: ExportedRun): void {
  let last = baseSeq;
  for (const { seq } of records) {
    if (!Number.isSafeInteger(seq) || seq <= last)
      throw invalid(`the records of run ${runId} are not in order: seq ${seq} follows ${last}`);
    last = seq;
  }
  if (snapshot === undefined) return;
  const seq: unknown = snapshot?.seq;
  if (!Number.isSafeInteger(seq) || (seq as number) < baseSeq || (seq as number) > last)
    throw invalid(`the snapshot of run ${runId} refers to record ${String(seq)}, which is not in the export`);
}

function checkEntry(runId: string, given: unknown): void {
  const { kind, id, name, at, onTargetTerminated } = (given ?? {}) as Partial<ExportedEntry>;
  const texts = [kind, id, name, onTargetTerminated].every((text) => typeof text === "string");
  if (!texts || !Number.isFinite(at)) throw invalid(`an inbox entry of run ${runId} has missing or invalid fields`);
}

function invalid(why: string, options?: ErrorOptions): PawlError {
  return new PawlError("EXPORT_INVALID", `${why}; nothing was changed`, options);
}
