import type { Engine, Migration, Rewound } from "pawl";
import type { ClientRequest } from "./client-request.ts";
import type { ExpectedRun } from "./expected-run.ts";
import { noop } from "./noop.ts";
import type { OperatorAction } from "./sim-case.ts";
import type { SimulationContext } from "./simulation-context.ts";

/** Somebody who moves a run through its own history; asked again under the same id, it happens once. */
export function operatorRequest(simulation: SimulationContext, act: OperatorAction, runId: string): ClientRequest {
  const place = (): string | number => chosenPlace(simulation, act, runId);
  const { id, children, messages } = act;
  if (act.kind === "prune" || act.kind === "letter") {
    const ask = act.kind === "prune" ? prune : replayLetter;
    return { label: `${act.kind} ${id}`, ask: (engine) => ask(engine, simulation, act), answered: noop, done: false };
  }
  return {
    label: `${act.kind} ${runId} ${id}`,
    ask: (engine) => {
      const options = { id, by: "operator", why: "at random", children, messages };
      if (act.kind === "rewind") return engine.rewind(runId, place(), options);
      if (act.kind === "retry") return engine.retry(runId, options);
      if (act.kind === "migrate") return migrated(engine, simulation, runId, act);
      return forked(engine, runId, act.atEnd ? null : place(), `${runId}-${id}`);
    },
    answered:
      act.kind === "fork" ? noop : (answer) => checkAnswer(simulation, runId, id, answer as Rewound | Migration | null),
    done: false,
  };
}

/** Where each act of a world goes: the same place each time it is asked for, or it would be another act. */
const places = new WeakMap<SimulationContext, Map<string, string | number>>();

function chosenPlace(simulation: SimulationContext, act: OperatorAction, runId: string): string | number {
  const chosen = places.get(simulation) ?? new Map<string, string | number>();
  places.set(simulation, chosen);
  const place = chosen.get(act.id) ?? placeIn(simulation.monitor.expectedRuns.get(runId), act);
  chosen.set(act.id, place);
  return place;
}

/** Where workers have other code than each other, or than the run began with, it may be refused. */
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

/** A fork that has been continued since does not tell any more what it was made of. */
async function forked(engine: Engine, runId: string, at: string | number | null, id: string): Promise<unknown> {
  try {
    return await engine.fork(runId, at, { id, by: "operator" });
  } catch (error) {
    if ((error as { readonly code?: string }).code === "RUN_EXISTS") return null;
    throw error;
  }
}

/** While it is not known whether a run was started, one that is gone might be started again. */
async function prune(engine: Engine, simulation: SimulationContext, { where }: OperatorAction): Promise<null> {
  const ms = Math.floor(where * 3000);
  if (!simulation.isStarting) await engine.prune({ retention: { completed: ms, failed: ms, cancelled: ms } });
  return null;
}

/** Sends a dead letter again, to its target or to another run, or throws it away. */
async function replayLetter(engine: Engine, simulation: SimulationContext, act: OperatorAction): Promise<null> {
  const { items } = await engine.deadLetters.list({});
  const letter = items[Math.floor(act.where * items.length)];
  if (letter === undefined) return null;
  if (act.atEnd) await engine.deadLetters.remove(letter.id);
  else await engine.deadLetters.replay(letter.id, act.bySeq ? { to: simulation.case.runs[act.run]?.id ?? "" } : {});
  return null;
}

/** A record of its journal, by its location or its seq. */
function placeIn(expectedRun: ExpectedRun | undefined, { where, bySeq }: OperatorAction): string | number {
  const records = expectedRun?.journal.filter(({ kind }) => kind !== "operator") ?? [];
  const record = records[Math.floor(where * records.length)];
  return record === undefined ? 0 : bySeq ? record.seq : record.location;
}

/** What is answered is what the journal tells of the act. */
function checkAnswer(
  { monitor }: SimulationContext,
  runId: string,
  id: string,
  answer: Rewound | Migration | null,
): void {
  const expectedRun = monitor.expectedRuns.get(runId);
  if (answer === null || expectedRun === undefined) return;
  const act = expectedRun.acts.get(id);
  // A run that has gone on as a fresh generation since then has left what was noted behind.
  if (act === undefined && expectedRun.row.generation > 0) return;
  if (act === undefined || act !== JSON.stringify(answer))
    monitor.violate(
      "act",
      `${id} of run ${runId} was answered with ${JSON.stringify(answer)}, and the journal tells ${act}`,
    );
}
