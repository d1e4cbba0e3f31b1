import { PawlError } from "../model/errors.ts";
import { endedGenerationOf } from "../model/names.ts";
import { operatorActionOf, operatorRecord } from "../model/operator-action.ts";
import { kinds, optionTable } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import { type JournalRecord, leavesOpen, type NewRecord } from "../model/record.ts";
import type { NewRun, Run } from "../model/run.ts";
import { checkSchema } from "../model/schema.ts";
import type { RunHistory } from "../model/transition.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import { awaitedChildren } from "../rules/awaited-children.ts";
import { cutBefore } from "../rules/cut-journal.ts";
import { type ForkResult, type OriginOf, seedOf } from "../runner/operator-records.ts";
import { ACT_KINDS, type ActOptions, actionId, actionRecord, type WholeRun, withoutSeq } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { actionTime, cutOf, endsOf, undoAfter } from "./rewind.ts";

export interface ForkOptions extends Omit<ActOptions, "id"> {
  /** The id of the new run. A repeated call with the same id, run and record returns the existing fork. Default: a new id. */
  readonly id?: string;
  /** The input of the new run. Default: the input of the forked run. */
  readonly input?: unknown;
  /** New results of kept steps and waits, by location. */
  readonly patch?: Readonly<Record<string, unknown>>;
  /** Default: the tags of the forked run. */
  readonly tags?: readonly string[];
  /** Whether an open child makes the fork fail. The end of a child is delivered only to its parent, never to a fork. Default `refuse`. */
  readonly openChildren?: "refuse" | "ignore";
}

export const FORK_OPTIONS = optionTable<ForkOptions>("fork", {
  ...ACT_KINDS,
  id: kinds.newRunId,
  input: kinds.value,
  patch: kinds.map(kinds.value),
  tags: kinds.tags,
  openChildren: kinds.oneOf("refuse", "ignore"),
});

export interface Forked {
  readonly run: NewRun;
  readonly history: RunHistory;
}

/** Builds a run from checked options. Its journal starts with a copy of another run's journal, up to `at`. Null copies all of it. */
export async function forkedRun(
  { config, codec, worker }: ControlParts,
  { run, records }: WholeRun,
  at: string | number | null,
  options: ForkOptions,
): Promise<Forked> {
  const now = config.store.now();
  const id = options.id ?? config.world.random.id(now);
  const target = `${run.id} at ${at ?? "its end"}`;
  const cut =
    at === null ? cutBefore(records, records.length, null) : cutOf({ kind: "fork", runId: run.id, at }, records);
  if (cut.kind !== "cut")
    throw new PawlError(
      "STEP_UNDONE",
      `cannot fork run ${run.id} at its end: it was compensated; fork it at an earlier record`,
    );
  const { ends, open } = await endsOf("fork", worker.reader, awaitedChildren(cut.kept));
  const [child] = open;
  if (child !== undefined && options.openChildren !== "ignore") throw childOpen(run.id, child.id);
  const result: ForkResult = { records: cut.kept.length, seed: seedOf({ run: id, generation: 0 }) };
  const fork = { id: actionId({}, () => id), target, result };
  const { by, why } = options;
  const note = { ...(by === undefined ? {} : { by }), ...(why === undefined ? {} : { why }) };
  const patched = patchedRecords(codec, run.id, cut.kept, options.patch ?? {});
  const action = actionRecord(codec, "fork", fork, note, actionTime(cut.kept, now));
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
    history: { records: [...withOrigin(codec, run, patched), action], inbox: ends, undo: undoAfter(run, cut) },
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

/** Adds the `origin` record, which replay needs for the seed and the start time. A fork of a fork keeps the first origin. */
function withOrigin(codec: Codec, run: Run, records: readonly NewRecord[]): readonly NewRecord[] {
  const [first] = records;
  if (first !== undefined && operatorActionOf(first) === "origin") return records;
  const origin: OriginOf = { run: endedGenerationOf(run.id)?.runId ?? run.id, generation: run.generation };
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
    if (!Object.hasOwn(patch, record.location) || leavesOpen(record)) return withoutSeq(record);
    left.delete(record.location);
    return patchedRecord(codec, runId, record, patch[record.location]);
  });
  const [missing] = left;
  if (missing === undefined) return records;
  throw new PawlError(
    "RECORD_NOT_FOUND",
    `cannot patch "${missing}": the kept part of run ${runId} has no record there; remove it from patch`,
  );
}

function patchedRecord(codec: Codec, runId: string, record: JournalRecord, value: unknown): NewRecord {
  const what = `patch of ${record.location}`;
  const rest = withoutSeq(record);
  if (record.kind === "step") return { ...rest, outcome: "ok", detail: null, payload: codec.encode(value, what) };
  const had = record.outcome === "ok" ? codec.decode(record.payload, `the value at ${record.location}`) : null;
  if ((record.kind === "listen" || record.kind === "event") && isReceived(had))
    return { ...rest, payload: codec.encode({ ...had, value }, what) };
  throw new PawlError(
    "OPTION_INVALID",
    `cannot patch "${record.location}" of run ${runId}: it is a ${record.kind} record; only steps and received messages and events can be patched`,
  );
}

function isReceived(value: unknown): value is { readonly value: unknown; readonly id: string } {
  return typeof value === "object" && value !== null && "id" in value && "value" in value;
}

function childOpen(runId: string, child: string): PawlError {
  return new PawlError(
    "CHILD_OPEN",
    `cannot fork run ${runId} there: its child ${child} is still open, and the fork would not receive its end; wait until it has ended, or pass openChildren: "ignore"`,
  );
}
