import { PawlError } from "../model/errors.ts";
import { endedGenerationId } from "../model/names.ts";
import type { RewriteOp } from "../model/op.ts";
import { isTerminal, type NewRun, type Run } from "../model/run.ts";
import type { Post } from "../model/transition.ts";
import type { Reader } from "../store/store.ts";
import { type WholeRun, wholeRun, withoutSeq } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { seenOf } from "./rewind.ts";

/** How often a run that keeps changing is read again. */
const ATTEMPTS_MAX = 5;

/** The ended journal is copied in one commit. */
const RECORDS_MAX = 250_000;

/** The answer to a restart: the run has started again, or it is open. */
export type NextGeneration = { readonly kind: "started" } | { readonly kind: "open"; readonly run: Run };

/** Whether the input of a run is that of its latest start. The first input of a run that has called `continueAs` is not stored. */
export async function hasFirstInput(reader: Pick<Reader, "get">, { id, generation }: Run): Promise<boolean> {
  return generation === 0 || (await reader.get(endedGenerationId(id, generation - 1))) !== null;
}

/**
 * Starts an ended run again under its id, as its next generation. The ended generation is copied to an id of its own in the same commit. If
 * several callers do this at once, one of them starts the run, and the others find it open.
 */
export async function startNextGeneration(parts: ControlParts, start: NewRun): Promise<NextGeneration> {
  const { config, submit, worker } = parts;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const loaded = await worker.withRetry(() => config.store.load(start.id, 0));
    if (loaded === null) throw gone(start.id);
    const whole = wholeRun(loaded);
    const { run } = whole;
    if (!isTerminal(run.status)) return { kind: "open", run };
    if (run.parent !== null) throw isChild(run.id, run.parent.runId);
    if (whole.records.length > RECORDS_MAX) throw isLarge(run.id, whole.records.length);
    const opId = config.world.random.id(config.store.now());
    const outcome = await submit(restartOp(whole, start, opId));
    if (outcome.kind === "done") return { kind: "started" };
  }
  throw new PawlError("RUN_BUSY", `run ${start.id} was not started again: it kept changing; try again`);
}

function restartOp(whole: WholeRun, start: NewRun, opId: string): RewriteOp {
  const { run, records } = whole;
  const newest = records.at(-1)?.seq ?? run.baseSeq;
  return {
    kind: "rewrite",
    runId: run.id,
    opId,
    epoch: run.epoch,
    journal: { seen: seenOf(whole), cutAfter: null, add: [], restore: [] },
    version: null,
    undo: "none",
    posts: [endedGeneration(whole)],
    // The start takes a seq, so a reader of the ended generation sees that the run has advanced.
    next: { run: { ...start, owner: null }, baseSeq: newest + 1 },
  };
}

/** The ended generation as a run of its own, which is never executed. */
function endedGeneration({ run, records }: WholeRun): Post {
  const { status, outcome, endedAt, createdAt, startedAt, generation, baseSeq, undo } = run;
  if (!isTerminal(status)) throw new Error(`run ${run.id} is ${status}; only an ended run can start again`);
  const { workflow, version, input, tags, startId, limits } = run;
  const id = endedGenerationId(run.id, generation);
  return {
    kind: "start",
    run: {
      ...{ id, workflow, version, input, tags, startId, createdAt },
      ...{ parent: null, owner: null, startAt: createdAt },
      ...(limits === undefined ? {} : { limits }),
    },
    history: {
      records: records.map(withoutSeq),
      inbox: [],
      undo,
      life: {
        ...{ startedAt, generation, baseSeq },
        seqs: records.map(({ seq }) => seq),
        end: { status, outcome, at: endedAt ?? createdAt },
      },
    },
  };
}

function isLarge(runId: string, count: number): PawlError {
  const why = `run ${runId} has ${count} records, and its ended generation would be copied with at most ${RECORDS_MAX}`;
  return new PawlError("RUN_EXISTS", `${why}; no run was started; delete it first, or choose another id`);
}

function gone(runId: string): PawlError {
  return new PawlError("RUN_BUSY", `run ${runId} was not started again: it was deleted meanwhile; try again`);
}

function isChild(runId: string, parent: string): PawlError {
  const why = `run ${runId} is a child of run ${parent}, which may still refer to it`;
  return new PawlError("RUN_EXISTS", `${why}; no run was started; retry it, or choose another id`);
}
