import { endedGenerationId } from "../model/names.ts";
import type { Run } from "../model/run.ts";
import type { Reader } from "../store/store.ts";

/** Names one start of a run: a run that has ended can start again under its id. */
export type SeenStart = Pick<Run, "startId" | "generation">;

/** Generations that are searched for the one of an earlier start. `continueAs` makes new ones too. */
const GENERATIONS_MAX = 1_000;

/** Reads a run as of the start that a caller has seen. If the run has started again since, this is an ended generation. */
export async function runOfStart(
  reader: Pick<Reader, "get">,
  runId: string,
  seen: SeenStart | null,
): Promise<Run | null> {
  const run = await reader.get(runId);
  if (run === null || seen === null || run.startId === seen.startId) return run;
  // A deleted run whose id was used for a first start.
  if (run.generation <= seen.generation) return run;
  const oldest = Math.max(seen.generation, run.generation - GENERATIONS_MAX);
  for (let generation = run.generation - 1; generation >= oldest; generation -= 1) {
    const ended = await reader.get(endedGenerationId(runId, generation));
    if (ended?.startId === seen.startId) return ended;
  }
  return null;
}
