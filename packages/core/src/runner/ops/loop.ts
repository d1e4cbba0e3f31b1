import { PawlError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import type { Ctx } from "../../workflow/ctx.ts";
import type { LoopHistory, LoopOptions, LoopStep, PlainLoopOptions } from "../../workflow/structure.ts";
import { type Branch, branchAt, Line, outerSignal } from "./branch.ts";
import { mark } from "./mark.ts";

const INTERVAL_DEFAULT = 20;
const KEEP_DEFAULT = 20;

/** Made once: there may be thousands of rounds a second, and mostly nothing is left open. */
const ROUND_OVER = new PawlError("ROUND_OVER", "the round of the loop is over, and this was not waited for");

/** A loop under way: where it is, and the rounds whose state is in the journal, the first of which a replay can begin with. */
interface Rounds {
  readonly location: string;
  readonly history: Required<LoopHistory>;
  notes: number[];
}

/**
 * Rounds with a state. The state is noted in the journal every few rounds, and a replay begins with the last note: rounds
 * before it are dropped, or stay for people to read, and are passed over.
 */
export async function loop<State, Value>(
  branch: Branch,
  options: LoopOptions<Ctx, State, Value> | PlainLoopOptions<Ctx, Value>,
): Promise<Value> {
  const history = checkHistory(options);
  const location = nextLocation(branch.scope, history.name);
  const point = branch.host.loopStarts(location);
  if (point?.kind === "over") return await ended<Value>(branch, location);
  const isPlain = !("state" in options);
  const run = options.run as LoopOptions<Ctx, State, Value>["run"];
  let round = point?.round ?? 0;
  let state = isPlain ? (undefined as State) : options.state;
  if (round > 0) state = await mark<State>(branch, { record: "loop", location: `${location}/~${round}`, detail: null });
  const rounds: Rounds = { location, history, notes: [round] };
  for (;;) {
    const step = checkStep(
      await goRound(branch, location, round, (ctx) => run(ctx, state, round)),
      isPlain,
      history.name,
    );
    round += 1;
    if (step.kind === "break") return await end(branch, rounds, round, step.value);
    state = round % history.commitInterval === 0 ? await note(branch, rounds, round, step.state) : step.state;
  }
}

/** When a round is over, what it has left open is over too: no replay that begins later would know of it. */
async function goRound<Result>(
  branch: Branch,
  location: string,
  round: number,
  run: (ctx: Ctx) => Promise<Result>,
): Promise<Result> {
  const path = `${location}/~${round}`;
  const line = new Line(branch.line, () => outerSignal(branch));
  const inner = { ...branchAt(branch, path), line };
  const result = await run(inner.createCtx(inner));
  line.end(ROUND_OVER);
  branch.host.cancelUnder(path, ROUND_OVER);
  return result;
}

/** Notes the state before a round; what lies further back is dropped, when it is time to. */
function note<State>(branch: Branch, rounds: Rounds, round: number, state: State): Promise<State> {
  const { location, history } = rounds;
  const { commitInterval, historyEvery, historyKeep } = history;
  rounds.notes.push(round);
  const begin = beginning(branch, rounds);
  const isTime = Math.floor(round / historyEvery) > Math.floor((round - commitInterval) / historyEvery);
  const trim = isTime ? { loop: location, below: Math.min(begin, round - historyKeep) } : null;
  return mark(branch, {
    record: "loop",
    location: `${location}/~${round}`,
    value: state,
    detail: String(begin),
    trim,
  });
}

/** Notes what the loop gives. A replay takes that, and runs rounds again only if something in them may have to be undone. */
async function end<Value>(branch: Branch, rounds: Rounds, count: number, value: Value): Promise<Value> {
  const { location, history } = rounds;
  const isKept = branch.host.keptFrom(location) !== Number.POSITIVE_INFINITY;
  const begin = isKept ? beginning(branch, rounds) : count;
  const result = await mark(branch, {
    record: "loop",
    location,
    value,
    detail: isKept ? String(begin) : null,
    trim: { loop: location, below: Math.min(begin, count - history.historyKeep) },
  });
  branch.host.loopEnds(location);
  return result;
}

/** The loop was over before this replay: it gives what it gave. */
async function ended<Value>(branch: Branch, location: string): Promise<Value> {
  const result = await mark<Value>(branch, { record: "loop", location, detail: null });
  branch.host.loopEnds(location);
  return result;
}

/** The last noted round before which nothing has to be undone; notes before it are needed no more. */
function beginning(branch: Branch, rounds: Rounds): number {
  const kept = branch.host.keptFrom(rounds.location);
  const index = Math.max(
    0,
    rounds.notes.findLastIndex((noted) => noted <= kept),
  );
  rounds.notes = rounds.notes.slice(index);
  return rounds.notes[0] ?? 0;
}

function checkHistory(options: LoopHistory): Required<LoopHistory> {
  const name = checkName(options.name, "name of loop");
  const commitInterval = options.commitInterval ?? INTERVAL_DEFAULT;
  const historyEvery = options.historyEvery ?? commitInterval;
  const historyKeep = options.historyKeep ?? KEEP_DEFAULT;
  checkCount(name, { commitInterval }, 1);
  checkCount(name, { historyEvery }, 1);
  if (historyKeep !== Number.POSITIVE_INFINITY) checkCount(name, { historyKeep }, 0);
  return { name, commitInterval, historyEvery, historyKeep };
}

function checkCount(loopName: string, given: Readonly<Record<string, number>>, least: number): void {
  for (const [option, value] of Object.entries(given)) {
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new PawlError(
      "OPTION_INVALID",
      `loop ${loopName}: ${option} is ${String(value)}, it has to be a whole number from ${least} on`,
    );
  }
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
    `a round of loop ${name} returned something else than Loop.continue(state) or Loop.break(value)`,
  );
}
