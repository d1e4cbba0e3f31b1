import { PawlError } from "../model/errors.ts";
import type { InboxEntry } from "../model/inbox.ts";
import { checkTarget } from "../model/names.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { type Parent, type Payload, STATUSES, type Status, type Undo } from "../model/run.ts";
import type { WholeRun } from "./action.ts";

/** Runs as portable data: JSON that every store can take in, and that can be kept in a repository. */
export interface RunExport {
  readonly format: "pawl.run";
  readonly version: 1;
  readonly exportedAt: number;
  /** The run that was asked for, then those that it started, and theirs. */
  readonly runs: readonly ExportedRun[];
}

/** A run with its journal and its inbox. A value that is left out is `undefined`. */
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
  /** When a run that has not begun is to begin. */
  readonly startAt: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly generation: number;
  readonly baseSeq: number;
  readonly undo: Undo;
  readonly records: readonly ExportedRecord[];
  readonly inbox: readonly ExportedEntry[];
  /** The state of a program that is data, after the record with this seq; the records before it are there, too. */
  readonly snapshot?: ExportedSnapshot;
}

export interface ExportedSnapshot {
  readonly seq: number;
  readonly value?: unknown;
}

export type ExportedRecord = Omit<JournalRecord, "payload"> & { readonly value?: unknown };
export type ExportedEntry = Omit<InboxEntry, "n" | "value"> & { readonly value?: unknown };

/** Payloads to the JSON of an export, and back. */
export interface Values {
  out(payload: Payload): { readonly value?: unknown };
  in(value: unknown): Payload;
}

const BYTES_MAX = Number.MAX_SAFE_INTEGER;

/** What the hook has made of a text is undone in an export: whoever has it can read it. */
export function exportValues(hook: CodecHook | null): Values {
  const limits = { bytesMax: BYTES_MAX, warnBytes: BYTES_MAX, onLarge: () => undefined };
  const plain = createCodec(null, limits);
  const hooked: Codec = hook === null ? plain : createCodec(hook, limits);
  return {
    out(payload) {
      const text = hook === null ? payload : plain.encode(hooked.decode(payload), "a value");
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
  const input = values.out(run.input);
  const outcome = values.out(run.outcome);
  return {
    ...{ id, workflow, version, status },
    ...("value" in input ? { input: input.value } : {}),
    ...("value" in outcome ? { outcome: outcome.value } : {}),
    ...{ tags, parent, startId, createdAt, startAt: status === "pending" ? run.wakeAt : null, startedAt, endedAt },
    ...{ generation, baseSeq: run.baseSeq, undo },
    records: records.map(({ payload, ...record }) => ({ ...record, ...values.out(payload) })),
    inbox: inbox.map(({ value, ...entry }) => ({ ...withoutNumber(entry), ...values.out(value) })),
    ...(snapshot === null ? {} : { snapshot: { seq: Number(snapshot.attributes.a), ...values.out(snapshot.body) } }),
  };
}

function withoutNumber(entry: Omit<InboxEntry, "n" | "value">): ExportedEntry {
  const { kind, id, name, status, at, onTargetTerminated } = entry;
  return { kind, id, name, status, at, onTargetTerminated };
}

/** Reads what claims to be an export. Refuses what can't have been one; records are checked when they are replayed. */
export function readExport(given: unknown): RunExport {
  const data = typeof given === "string" ? parsed(given) : given;
  const told = data as Partial<RunExport> | null;
  if (typeof told !== "object" || told === null || told.format !== "pawl.run")
    throw invalid("it is no exported run: its format is not pawl.run");
  if (told.version !== 1) throw invalid(`its version is ${String(told.version)}; this engine reads version 1`);
  if (!Array.isArray(told.runs) || told.runs.length === 0) throw invalid("it holds no runs");
  for (const run of told.runs as readonly unknown[]) checkRun(run);
  return told as RunExport;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PawlError("EXPORT_INVALID", `it is no JSON: ${String(cause)}. Nothing was imported`, { cause });
  }
}

const NUMBERS = ["version", "createdAt", "generation", "baseSeq"] as const;
const UNDOS: readonly unknown[] = ["none", "some", "underWay"] satisfies readonly Undo[];

function checkRun(given: unknown): void {
  if (typeof given !== "object" || given === null) throw invalid("one of its runs is none");
  const run = given as Record<string, unknown>;
  const id = checkTarget(run.id);
  if (typeof run.workflow !== "string" || typeof run.startId !== "string") throw invalid(`run ${id} has no workflow`);
  if (!(STATUSES as readonly unknown[]).includes(run.status)) throw invalid(`run ${id} has no status`);
  if (!UNDOS.includes(run.undo)) throw invalid(`run ${id} does not say what there is to undo`);
  for (const name of NUMBERS)
    if (!Number.isSafeInteger(run[name])) throw invalid(`${name} of run ${id} is ${String(run[name])}`);
  for (const name of ["records", "inbox", "tags"] as const)
    if (!Array.isArray(run[name])) throw invalid(`${name} of run ${id} is no list`);
  for (const record of run.records as readonly unknown[]) checkRecord(id, record);
  checkSeqs(id, run as unknown as ExportedRun);
  for (const entry of run.inbox as readonly unknown[]) checkEntry(id, entry);
}

function checkRecord(runId: string, given: unknown): void {
  const { seq, location, kind, outcome, attempts, startedAt, at } = (given ?? {}) as Partial<ExportedRecord>;
  const texts = [location, kind, outcome].every((text) => typeof text === "string");
  const numbers = [seq, attempts, startedAt, at].every((number) => Number.isFinite(number));
  if (!texts || !numbers) throw invalid(`a record of run ${runId} can't be read`);
}

/** They grow; a loop may have dropped some between them. */
function checkSeqs(runId: string, { baseSeq, records, snapshot }: ExportedRun): void {
  let last = baseSeq;
  for (const { seq } of records) {
    if (!Number.isSafeInteger(seq) || seq <= last)
      throw invalid(`a record of run ${runId} has seq ${seq} after ${last}`);
    last = seq;
  }
  if (snapshot === undefined) return;
  const seq: unknown = snapshot?.seq;
  if (!Number.isSafeInteger(seq) || (seq as number) < baseSeq || (seq as number) > last)
    throw invalid(`the snapshot of run ${runId} is of record ${String(seq)}, which it does not hold`);
}

function checkEntry(runId: string, given: unknown): void {
  const { kind, id, name, at, onTargetTerminated } = (given ?? {}) as Partial<ExportedEntry>;
  const texts = [kind, id, name, onTargetTerminated].every((text) => typeof text === "string");
  if (!texts || !Number.isFinite(at)) throw invalid(`what lies in the inbox of run ${runId} can't be read`);
}

function invalid(why: string): PawlError {
  return new PawlError("EXPORT_INVALID", `${why}. Nothing was imported`);
}
