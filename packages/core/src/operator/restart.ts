import { type RecordView, type RunSummary, recordView, runSummary } from "../engine/run-handle.ts";
import { PawlError } from "../model/errors.ts";
import { kinds, openTable, optionTable, readArgument } from "../model/option-check.ts";
import { isTerminal } from "../model/run.ts";
import { ACT_KINDS, type ActOptions, actionRecord, type Planned, type WholeRun } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { actionTime } from "./rewind.ts";

/** A run with all of its records, decoded. */
export interface ReadRun {
  readonly run: RunSummary;
  readonly records: readonly RecordView[];
}

export interface RestartOptions<Result> extends ActOptions {
  /**
   * Computes the new input from the run, and the result of the `restart` call. Called again if the run has changed before the
   * commit. If it throws, nothing changes.
   */
  readonly plan: (read: ReadRun) => RestartPlan<Result> | Promise<RestartPlan<Result>>;
}

export interface RestartPlan<Result> {
  readonly input: unknown;
  readonly result: Result;
}

export const RESTART_OPTIONS = optionTable<RestartOptions<never>>("restart", {
  ...ACT_KINDS,
  plan: kinds.required(kinds.callback),
});

const PLAN = kinds.options(openTable<RestartPlan<never>>("the plan", { input: kinds.value, result: kinds.value }));

/** Starts a new generation of the run in another version. Its journal contains only the record of this action. */
export async function planRestart<Result>(
  { codec, config }: ControlParts,
  { run, records }: WholeRun,
  { version, id, target }: { readonly version: number; readonly id: string; readonly target: string },
  options: RestartOptions<Result>,
): Promise<Planned<Result>> {
  if (isTerminal(run.status))
    throw new PawlError("RUN_ENDED", `run ${run.id} is ${run.status} and cannot be restarted`);
  const read = { run: runSummary(codec, run), records: records.map((record) => recordView(codec, record)) };
  // A plan that takes an unreadable value for undefined would lose it: the restart drops the journal.
  const inputError = read.run.input === undefined ? read.run.unreadable : null;
  const unreadable = inputError ?? read.records.find((record) => record.unreadable !== null)?.unreadable ?? null;
  if (unreadable !== null) throw unreadable;
  const { input, result } = readArgument<RestartPlan<Result>>(PLAN, await options.plan(read), "result of plan");
  // After the plan, which can name the open call that is in the way.
  if (run.undo !== "none") {
    throw new PawlError(
      "RUN_UNDOABLE",
      `cannot restart run ${run.id}: it has completed steps with rollbacks, or open children, which a restart would forget; migrate it, or cancel it first`,
    );
  }
  const action = actionRecord(
    codec,
    "migrate",
    { id, target, result },
    options,
    actionTime(records, config.store.now()),
  );
  const payload = codec.encode(input, `input of run ${run.id}`);
  const baseSeq = records.at(-1)?.seq ?? run.baseSeq;
  return {
    change: { cutAfter: null, add: [action], restore: [] },
    posts: [],
    version: null,
    undo: run.undo,
    result,
    restart: { workflow: run.workflow, version, input: payload, baseSeq },
  };
}
