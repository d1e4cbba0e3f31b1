import type { Engine, Migration, Rewound } from "pawl";
import type { OperatorAct } from "./case.ts";
import type { Errand } from "./errand.ts";
import { nothing } from "./nothing.ts";
import type { Shadow } from "./shadow.ts";
import type { Stage } from "./stage.ts";

/** Somebody who moves a run through its own history; asked again under the same id, it happens once. */
export function actErrand(world: Stage, act: OperatorAct, runId: string): Errand {
  const place = (): string | number => chosenPlace(world, act, runId);
  const { id, children, messages } = act;
  if (act.kind === "prune" || act.kind === "letter") {
    const ask = act.kind === "prune" ? prune : replayLetter;
    return { label: `${act.kind} ${id}`, ask: (engine) => ask(engine, world, act), answered: nothing, done: false };
  }
  return {
    label: `${act.kind} ${runId} ${id}`,
    ask: (engine) => {
      const options = { id, by: "operator", why: "at random", children, messages };
      if (act.kind === "rewind") return engine.rewind(runId, place(), options);
      if (act.kind === "retry") return engine.retry(runId, options);
      if (act.kind === "migrate") return migrated(engine, world, runId, act);
      return forked(engine, runId, act.atEnd ? null : place(), `${runId}-${id}`);
    },
    answered: act.kind === "fork" ? nothing : (answer) => told(world, runId, id, answer as Rewound | Migration | null),
    done: false,
  };
}

/** Where each act of a world goes: the same place each time it is asked for, or it would be another act. */
const places = new WeakMap<Stage, Map<string, string | number>>();

function chosenPlace(world: Stage, act: OperatorAct, runId: string): string | number {
  const chosen = places.get(world) ?? new Map<string, string | number>();
  places.set(world, chosen);
  const place = chosen.get(act.id) ?? placeIn(world.monitor.shadows.get(runId), act);
  chosen.set(act.id, place);
  return place;
}

/** Where workers have other code than each other, or than the run began with, it may be refused. */
async function migrated(engine: Engine, world: Stage, runId: string, { id, bySeq }: OperatorAct): Promise<unknown> {
  try {
    return await engine.migrate(runId, bySeq ? 1 : 2, {}, { id, by: "operator" });
  } catch (error) {
    if (world.case.changeAtMs > 0 && (error as { readonly code?: string }).code === "HISTORY_DIVERGED") return null;
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
async function prune(engine: Engine, world: Stage, { where }: OperatorAct): Promise<null> {
  const ms = Math.floor(where * 3000);
  if (!world.isStarting) await engine.prune({ retention: { completed: ms, failed: ms, cancelled: ms } });
  return null;
}

/** Sends a dead letter again, to its target or to another run, or throws it away. */
async function replayLetter(engine: Engine, world: Stage, act: OperatorAct): Promise<null> {
  const { items } = await engine.deadLetters.list({});
  const letter = items[Math.floor(act.where * items.length)];
  if (letter === undefined) return null;
  if (act.atEnd) await engine.deadLetters.remove(letter.id);
  else await engine.deadLetters.replay(letter.id, act.bySeq ? { to: world.case.runs[act.run]?.id ?? "" } : {});
  return null;
}

/** A record of its journal, by its location or its seq. */
function placeIn(shadow: Shadow | undefined, { where, bySeq }: OperatorAct): string | number {
  const records = shadow?.journal.filter(({ kind }) => kind !== "operator") ?? [];
  const record = records[Math.floor(where * records.length)];
  return record === undefined ? 0 : bySeq ? record.seq : record.location;
}

/** What is answered is what the journal tells of the act. */
function told({ monitor }: Stage, runId: string, id: string, answer: Rewound | Migration | null): void {
  const shadow = monitor.shadows.get(runId);
  if (answer === null || shadow === undefined) return;
  const act = shadow.acts.get(id);
  // A run that has gone on as a fresh generation since then has left what was noted behind.
  if (act === undefined && shadow.row.generation > 0) return;
  if (act === undefined || act !== JSON.stringify(answer))
    monitor.violate(
      "act",
      `${id} of run ${runId} was answered with ${JSON.stringify(answer)}, and the journal tells ${act}`,
    );
}
