import { type RecordView, type RunSummary, recordView, runSummary } from "../engine/run-handle.ts";
import { PawlError } from "../model/errors.ts";
import { isTerminal } from "../model/run.ts";
import { type ActOptions, noteAct, type Planned, type WholeRun } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { actAt } from "./rewind.ts";

/** A run as it was read, whole. */
export interface ReadRun {
  readonly run: RunSummary;
  readonly records: readonly RecordView[];
}

export interface RestartOptions<Result> extends ActOptions {
  /**
   * What the run begins again with, made of what it is; and what the caller is told of it. It is called again if the run has
   * changed meanwhile. If it throws, nothing is done.
   */
  readonly plan: (read: ReadRun) => RestartPlan<Result> | Promise<RestartPlan<Result>>;
}

export interface RestartPlan<Result> {
  readonly input: unknown;
  readonly result: Result;
}

/** The run as a fresh generation, in another version: of its journal only the record of this act stays. */
export async function planRestart<Result>(
  { codec, config }: ControlParts,
  { run, records }: WholeRun,
  { version, id, target }: { readonly version: number; readonly id: string; readonly target: string },
  options: RestartOptions<Result>,
): Promise<Planned<Result>> {
  if (isTerminal(run.status)) throw new PawlError("RUN_ENDED", `run ${run.id} is ${run.status}; it can't begin again`);
  if (run.undo !== "none") {
    const text = `run ${run.id} has done what it may have to undo, and would not know of it if it began again`;
    throw new PawlError("RUN_UNDOABLE", text);
  }
  const read = { run: runSummary(codec, run), records: records.map((record) => recordView(codec, record)) };
  const { input, result } = await options.plan(read);
  const act = noteAct(codec, "migrate", { id, target, result }, options, actAt(records, config.store.now()));
  const payload = codec.encode(input, `input of run ${run.id}`);
  const baseSeq = records.at(-1)?.seq ?? run.baseSeq;
  return {
    change: { cutAfter: null, add: [act], restore: [] },
    posts: [],
    version: null,
    undo: run.undo,
    result,
    restart: { workflow: run.workflow, version, input: payload, baseSeq },
  };
}
