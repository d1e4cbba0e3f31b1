import type { Engine, Migration, Rewound } from "pawl";
import type { ClientRequest } from "./client-request.ts";
import type { ExpectedRun } from "./expected-run.ts";
import { noop } from "./noop.ts";
import { START_STRIDE } from "./program.ts";
import type { OperatorAction } from "./sim-case.ts";
import type { SimProcess, SimulationContext } from "./simulation-context.ts";

/** A request for an operator action. Repeated with the same id, the action is executed once. */
export function operatorRequest(simulation: SimulationContext, act: OperatorAction, runId: string): ClientRequest {
  const place = (): string | number => chosenPlace(simulation, act, runId);
  const { id, children, messages } = act;
  if (act.kind === "prune" || act.kind === "letter") {
    const ask = act.kind === "prune" ? prune : replayLetter;
    return { label: `${act.kind} ${id}`, ask: (engine) => ask(engine, simulation, act), answered: noop, done: false };
  }
  return {
    label: `${act.kind} ${runId} ${id}`,
    ask: (engine, worker) => {
      const options = { id, by: "operator", why: "simulation", children, messages };
      if (act.kind === "rewind") return engine.rewind(runId, place(), options);
      if (act.kind === "restart") return startedAgain(engine, worker, simulation, act);
      if (act.kind === "retry") return engine.retry(runId, options);
      if (act.kind === "migrate") return migrated(engine, simulation, runId, act);
      return forked(engine, runId, act.atEnd ? null : place(), `${runId}-${id}`);
    },
    answered:
      act.kind === "fork" || act.kind === "restart"
        ? noop
        : (answer) => checkAnswer(simulation, runId, id, answer as Rewound | Migration | null),
    done: false,
  };
}

/** The target of each action. A repeated request must have the same target, otherwise it would be another action. */
const targets = new WeakMap<SimulationContext, Map<string, string | number>>();

function chosenPlace(simulation: SimulationContext, act: OperatorAction, runId: string): string | number {
  const chosen = targets.get(simulation) ?? new Map<string, string | number>();
  targets.set(simulation, chosen);
  const place = chosen.get(act.id) ?? placeIn(simulation.monitor.expectedRuns.get(runId), act);
  chosen.set(act.id, place);
  return place;
}

/** May be rejected if workers have different code, or other code than the run started with. */
async function migrated(
  engine: Engine,
  simulation: SimulationContext,
  runId: string,
  { id, bySeq }: OperatorAction,
): Promise<unknown> {
  try {
    return await engine.migrate(runId, bySeq ? 1 : 2, {}, { id, by: "operator" });
  } catch (error) {
    if (simulation.case.changeAtMs > 0 && (error as { readonly code?: string }).code === "HISTORY_DIVERGED")
      return null;
    throw error;
  }
}

/** Forks a run. A fork that has continued as a new generation no longer records its origin. */
async function forked(engine: Engine, runId: string, at: string | number | null, id: string): Promise<unknown> {
  try {
    return await engine.fork(runId, at, { id, by: "operator" });
  } catch (error) {
    if ((error as { readonly code?: string }).code === "RUN_EXISTS") return null;
    throw error;
  }
}

/** Starts a run again if it has ended. The number of the action is part of the input, so an open run is a conflict. */
async function startedAgain(
  engine: Engine,
  worker: SimProcess,
  { case: plan, monitor }: SimulationContext,
  { run, id }: OperatorAction,
): Promise<unknown> {
  const started = plan.runs[run];
  // A start of a run that does not exist yet would be its first.
  if (started === undefined || monitor.expectedRuns.get(started.id)?.isGone !== false) return null;
  const input = { p: started.program, g: START_STRIDE * Number(id.slice("again".length)) };
  try {
    return await engine.start(worker.workflows.of(started.program), input, { id: started.id, onConflict: "restart" });
  } catch (error) {
    if ((error as { readonly code?: string }).code === "RUN_EXISTS") return null;
    throw error;
  }
}

/** Prunes only when the outcome of every start is known; otherwise a repeated start would create a pruned run again. */
async function prune(engine: Engine, simulation: SimulationContext, { where }: OperatorAction): Promise<null> {
  const ms = Math.floor(where * 3000);
  if (!simulation.isStarting) await engine.prune({ retention: { completed: ms, failed: ms, cancelled: ms } });
  return null;
}

/** Replays a dead letter to its target or to another run, or discards it. */
async function replayLetter(engine: Engine, simulation: SimulationContext, act: OperatorAction): Promise<null> {
  const { items } = await engine.deadLetters.list({});
  const letter = items[Math.floor(act.where * items.length)];
  if (letter === undefined) return null;
  if (act.atEnd) await engine.deadLetters.remove(letter.id);
  else await engine.deadLetters.replay(letter.id, act.bySeq ? { to: simulation.case.runs[act.run]?.id ?? "" } : {});
  return null;
}

/** The location or the seq of a record of the run. */
function placeIn(expectedRun: ExpectedRun | undefined, { where, bySeq }: OperatorAction): string | number {
  const records = expectedRun?.journal.filter(({ kind }) => kind !== "operator") ?? [];
  const record = records[Math.floor(where * records.length)];
  return record === undefined ? 0 : bySeq ? record.seq : record.location;
}

/** The answer must equal the result in the operator record. */
function checkAnswer(
  { monitor }: SimulationContext,
  runId: string,
  id: string,
  answer: Rewound | Migration | null,
): void {
  const expectedRun = monitor.expectedRuns.get(runId);
  if (answer === null || expectedRun === undefined) return;
  const recorded = expectedRun.actions.get(id);
  // A run that has continued as a new generation no longer has the record.
  if (recorded === undefined && expectedRun.row.generation > 0) return;
  if (recorded === undefined || recorded !== JSON.stringify(answer))
    monitor.violate(
      "action",
      `${id} of run ${runId} was answered with ${JSON.stringify(answer)}, but the journal contains ${recorded}`,
    );
}
