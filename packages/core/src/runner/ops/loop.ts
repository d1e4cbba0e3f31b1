import { PawlError } from "../../model/errors.ts";
import { kinds, type OptionKinds, type OptionTable, optionTable, readOptions } from "../../model/option-check.ts";
import type { Ctx } from "../../workflow/ctx.ts";
import type {
  EndlessLoopOptions,
  LoopHistory,
  LoopOptions,
  LoopStep,
  PlainLoopOptions,
} from "../../workflow/structure.ts";
import { type Branch, BranchCancellation, branchAt, locate, outerSignal } from "./branch.ts";
import { mark } from "./mark.ts";

const INTERVAL_DEFAULT = 20;
const KEEP_DEFAULT = 20;

const HISTORY_KINDS = {
  name: kinds.required(kinds.name),
  commitInterval: kinds.integer(1),
  historyEvery: kinds.integer(1),
  historyKeep: kinds.either(kinds.literal(Number.POSITIVE_INFINITY), kinds.integer(0)),
} as const satisfies OptionKinds<LoopHistory>;

const LOOP_OPTIONS = optionTable<LoopOptions<Ctx, unknown, unknown>>("loop", {
  ...HISTORY_KINDS,
  state: kinds.value,
  run: kinds.required(kinds.callback),
});

/** Created once, because a loop may run thousands of iterations per second. */
const ITERATION_ENDED = new PawlError("ITERATION_ENDED", "the iteration of the loop ended while this was still open");

/** A running loop. `saved` has the iterations whose state is in the journal; a replay can resume at the first. */
interface LoopProgress {
  readonly location: string;
  readonly history: Required<LoopHistory>;
  saved: number[];
}

/**
 * Runs iterations with a state. The state is recorded every `commitInterval` iterations, and a replay resumes at the last recorded one.
 * Earlier iterations are deleted, or kept for operators to read and skipped.
 */
export async function loop<State, Value>(
  branch: Branch,
  given: LoopOptions<Ctx, State, Value> | PlainLoopOptions<Ctx, Value> | EndlessLoopOptions<Ctx>,
): Promise<Value> {
  const options = readOptions<typeof given>(LOOP_OPTIONS as OptionTable<never>, given);
  const history = historyOf(options);
  const location = locate(branch, history.name);
  const point = branch.host.startLoop(location);
  if (point?.kind === "ended") return await readResult<Value>(branch, location);
  const isPlain = !("state" in options);
  const run = options.run as LoopOptions<Ctx, State, Value>["run"];
  let iteration = point?.iteration ?? 0;
  let state = isPlain ? (undefined as State) : options.state;
  if (iteration > 0)
    state = await mark<State>(branch, { record: "loop", location: `${location}/~${iteration}`, detail: null });
  const progress: LoopProgress = { location, history, saved: [iteration] };
  for (;;) {
    const step = checkStep(
      await runIteration(branch, location, iteration, (ctx) => run(ctx, state, iteration)),
      isPlain,
      history.name,
    );
    iteration += 1;
    if (step.kind === "break") return await endLoop(branch, progress, iteration, step.value);
    state =
      iteration % history.commitInterval === 0 ? await saveState(branch, progress, iteration, step.state) : step.state;
  }
}

/**
 * Runs one iteration. Everything that it left open is cancelled at its end, because a replay that resumes later would not know it.
 */
async function runIteration<Result>(
  branch: Branch,
  location: string,
  iteration: number,
  run: (ctx: Ctx) => Promise<Result>,
): Promise<Result> {
  const path = `${location}/~${iteration}`;
  const cancellation = new BranchCancellation(branch.cancellation, () => outerSignal(branch));
  const inner = { ...branchAt(branch, path), cancellation };
  const result = await run(inner.createCtx(inner));
  cancellation.cancel(ITERATION_ENDED);
  branch.host.cancelUnder(path, ITERATION_ENDED);
  return result;
}

/** Records the state before an iteration. Deletes old iterations every `historyEvery` iterations. */
function saveState<State>(branch: Branch, progress: LoopProgress, iteration: number, state: State): Promise<State> {
  const { location, history } = progress;
  const { commitInterval, historyEvery, historyKeep } = history;
  progress.saved.push(iteration);
  const start = resumeIteration(branch, progress);
  const isTrimDue = Math.floor(iteration / historyEvery) > Math.floor((iteration - commitInterval) / historyEvery);
  const trim = isTrimDue ? { loop: location, below: Math.min(start, iteration - historyKeep) } : null;
  return mark(branch, {
    record: "loop",
    location: `${location}/~${iteration}`,
    value: state,
    detail: String(start),
    trim,
  });
}

/** Records the loop's result. A replay uses it, and repeats iterations only if they have rollbacks. */
async function endLoop<Value>(branch: Branch, progress: LoopProgress, count: number, value: Value): Promise<Value> {
  const { location, history } = progress;
  const hasRollbacks = branch.host.firstUndoableIteration(location) !== Number.POSITIVE_INFINITY;
  const start = hasRollbacks ? resumeIteration(branch, progress) : count;
  const result = await mark(branch, {
    record: "loop",
    location,
    value,
    detail: hasRollbacks ? String(start) : null,
    trim: { loop: location, below: Math.min(start, count - history.historyKeep) },
  });
  branch.host.endLoop(location);
  return result;
}

/** Reads the result of a loop that ended before this replay. */
async function readResult<Value>(branch: Branch, location: string): Promise<Value> {
  const result = await mark<Value>(branch, { record: "loop", location, detail: null });
  branch.host.endLoop(location);
  return result;
}

/** Returns the last saved iteration that is not after the first one with a rollback, and forgets earlier ones. */
function resumeIteration(branch: Branch, progress: LoopProgress): number {
  const first = branch.host.firstUndoableIteration(progress.location);
  const index = Math.max(
    0,
    progress.saved.findLastIndex((iteration) => iteration <= first),
  );
  progress.saved = progress.saved.slice(index);
  return progress.saved[0] ?? 0;
}

function historyOf(options: LoopHistory): Required<LoopHistory> {
  const {
    name,
    commitInterval = INTERVAL_DEFAULT,
    historyEvery = commitInterval,
    historyKeep = KEEP_DEFAULT,
  } = options;
  return { name, commitInterval, historyEvery, historyKeep };
}

function checkStep<State, Value>(
  step: LoopStep<State, Value> | undefined,
  isPlain: boolean,
  name: string,
): LoopStep<State, Value> {
  if (step === undefined && isPlain) return { kind: "continue", state: undefined as State };
  if (step?.kind === "continue" || step?.kind === "break") return step;
  throw new PawlError(
    "OPTION_INVALID",
    `an iteration of loop ${name} must return Loop.continue(state) or Loop.break(value)`,
  );
}
