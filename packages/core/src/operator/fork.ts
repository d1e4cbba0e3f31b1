import { PawlError } from "../model/errors.ts";
import { checkRunId } from "../model/names.ts";
import { operatorActionOf, operatorRecord } from "../model/operator-action.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, NewRecord } from "../model/record.ts";
import type { NewRun, Run } from "../model/run.ts";
import { checkSchema } from "../model/schema.ts";
import type { RunHistory } from "../model/transition.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import { cutBefore } from "../rules/cut-journal.ts";
import type { OriginOf } from "../runner/operator-records.ts";
import { type ActOptions, actId, noteAct, type WholeRun, withoutSeq } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { actAt, awaitedChildren, cutOf, endsOf, undoAfter } from "./rewind.ts";

export interface ForkOptions extends Omit<ActOptions, "id"> {
  /** The id of the run that is made. Forking again with the same id, run and place gives the run that exists. Default: a fresh one. */
  readonly id?: string;
  /** In place of the input that the run had. */
  readonly input?: unknown;
  /** What steps and waits that stay are to have given instead, by location. */
  readonly patch?: Readonly<Record<string, unknown>>;
  readonly tags?: readonly string[];
  /** Whether a child that has not ended keeps the fork from being made: its end is told to its own parent alone. Default `refuse`. */
  readonly openChildren?: "refuse" | "ignore";
}

export interface Forked {
  readonly run: NewRun;
  readonly history: RunHistory;
}

/** A run that begins with the history of another, up to a place in it. */
export async function forkedRun(
  { config, codec }: ControlParts,
  { run, records }: WholeRun,
  at: string | number | null,
  options: ForkOptions,
): Promise<Forked> {
  const now = config.store.now();
  const id = options.id === undefined ? config.world.random.id(now) : checkRunId(options.id);
  const target = `${run.id} at ${at ?? "its end"}`;
  const cut = at === null ? cutBefore(records, records.length, null) : cutOf(run.id, records, at);
  if (cut.kind !== "cut")
    throw new PawlError("STEP_UNDONE", `run ${run.id} was undone; fork it at a place before that`);
  const { ends, open } = await endsOf(config.store.reader, awaitedChildren(cut.kept));
  const [child] = open;
  if (child !== undefined && options.openChildren !== "ignore") throw childOpen(run.id, child.id);
  const result = { records: cut.kept.length };
  const fork = { id: actId({}, () => id), target, result };
  const { by, why } = options;
  const note = { ...(by === undefined ? {} : { by }), ...(why === undefined ? {} : { why }) };
  const patched = patchedRecords(codec, run.id, cut.kept, options.patch ?? {});
  const act = noteAct(codec, "fork", fork, note, actAt(cut.kept, now));
  return {
    run: {
      id,
      workflow: run.workflow,
      version: run.version,
      input: "input" in options ? codec.encode(checkedInput(config.workflows, run, options.input), "input") : run.input,
      tags: options.tags ?? run.tags,
      parent: null,
      createdAt: now,
      startId: options.id === undefined ? id : `fork of ${target}`,
      owner: null,
      startAt: now,
    },
    history: { records: [...withOrigin(codec, run, patched), act], inbox: ends, undo: undoAfter(run, cut) },
  };
}

function checkedInput(
  workflows: ControlParts["config"]["workflows"],
  { workflow: name, version }: Run,
  input: unknown,
): unknown {
  const schema = workflows.get(workflowKey({ name, version }))?.options.input;
  return schema === undefined ? input : checkSchema(schema, input, `input of ${name}`);
}

/** What the history was made by, so that it is replayed the same. The history of a fork has it from the first run on. */
function withOrigin(codec: Codec, run: Run, records: readonly NewRecord[]): readonly NewRecord[] {
  const [first] = records;
  if (first !== undefined && operatorActionOf(first) === "origin") return records;
  const origin: OriginOf = { run: run.id, generation: run.generation };
  const at = run.startedAt ?? run.createdAt;
  return [operatorRecord("origin", codec.encode(origin, "origin"), { startedAt: at, at }), ...records];
}

function patchedRecords(
  codec: Codec,
  runId: string,
  kept: readonly JournalRecord[],
  patch: Readonly<Record<string, unknown>>,
): readonly NewRecord[] {
  const left = new Set(Object.keys(patch));
  const records = kept.map((record): NewRecord => {
    if (!Object.hasOwn(patch, record.location) || record.kind === "retry") return withoutSeq(record);
    left.delete(record.location);
    return patchedRecord(codec, runId, record, patch[record.location]);
  });
  const [missing] = left;
  if (missing === undefined) return records;
  throw new PawlError(
    "RECORD_NOT_FOUND",
    `run ${runId} has no record at ${missing} that stays; the patch does not fit`,
  );
}

function patchedRecord(codec: Codec, runId: string, record: JournalRecord, value: unknown): NewRecord {
  const what = `patch of ${record.location}`;
  const rest = withoutSeq(record);
  if (record.kind === "step") return { ...rest, outcome: "ok", detail: null, payload: codec.encode(value, what) };
  const had = record.outcome === "ok" ? codec.decode(record.payload) : null;
  if ((record.kind === "listen" || record.kind === "event") && isReceived(had))
    return { ...rest, payload: codec.encode({ ...had, value }, what) };
  throw new PawlError(
    "OPTION_INVALID",
    `run ${runId}: ${record.kind} at ${record.location} can't be patched; steps and what was received can`,
  );
}

function isReceived(value: unknown): value is { readonly value: unknown; readonly id: string } {
  return typeof value === "object" && value !== null && "id" in value && "value" in value;
}

function childOpen(runId: string, child: string): PawlError {
  return new PawlError(
    "CHILD_OPEN",
    `run ${runId} can't be forked there: its child ${child} has not ended, and its end is told to ${runId} alone`,
  );
}
