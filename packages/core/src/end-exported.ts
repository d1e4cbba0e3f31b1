import { PawlError } from "./model/errors.ts";
import { toFailure } from "./model/failure.ts";
import { isTerminal } from "./model/run.ts";
import type { Transition } from "./model/transition.ts";
import { type MoveOptions, withStore } from "./move-run.ts";
import { type ExportedRun, exportValues, type RunExport, readExport } from "./run-export.ts";
import type { Loaded, Store } from "./store/store.ts";

/**
 * Ends runs where they were exported from, when they are where they go on: they are `cancelled`, with code `RUN_MOVED`; nothing is
 * undone, and what lay in their inboxes is not sent on. One that has gone on since it was exported is refused with code `RUN_GOES_ON`:
 * pause a run before it is exported. Gives the ids of those that were open. Doing it again changes nothing.
 *
 * ```ts
 * await engine.pause("order-1");
 * const exported = await exportRun(here, "order-1");
 * await importRun(there, exported);
 * await endExported(here, exported);
 * ```
 */
export async function endExported(
  store: Store,
  exported: RunExport | string,
  options: MoveOptions = {},
): Promise<readonly string[]> {
  const { runs } = readExport(exported);
  const { codec = null } = options;
  const moved = new PawlError("RUN_MOVED", "the run was moved to another store, where it goes on");
  const outcome = exportValues(codec).in(toFailure(moved));
  return await withStore(store, options, async () => {
    const ends: Array<{ readonly id: string; readonly transitions: readonly Transition[] }> = [];
    for (const run of runs) {
      const loaded = await store.load(run.id, newestSeq(run));
      if (loaded === null || isTerminal(loaded.run.status)) continue;
      checkUnchanged(run, loaded, runs);
      ends.push({ id: run.id, transitions: endOf(loaded, newestSeq(run), outcome, store.now()) });
    }
    if (ends.length === 0) return [];
    const { answers } = await store.commit(ends.flatMap(({ transitions }) => transitions));
    if (answers.some(({ kind }) => kind === "refused"))
      throw goesOn(ends.map(({ id }) => id).join(", "), "one of them was at work meanwhile; try it again");
    return ends.map(({ id }) => id);
  });
}

function newestSeq({ records, baseSeq }: ExportedRun): number {
  return records.at(-1)?.seq ?? baseSeq;
}

/** What was exported is all that there is of the run. */
function checkUnchanged(exported: ExportedRun, { run, records, inbox }: Loaded, family: readonly ExportedRun[]): void {
  const { id, startId, status, parent } = exported;
  if (run.startId !== startId) throw new PawlError("RUN_EXISTS", `run ${id} is another than the exported one`);
  if (parent !== null && !family.some((other) => other.id === parent.runId))
    throw new PawlError("OPTION_INVALID", `run ${id} is awaited by run ${parent.runId}, which is not in the export`);
  if (run.status !== status) throw goesOn(`run ${id}`, `it was ${status} then, and is ${run.status}`);
  if (records.length > 0) throw goesOn(`run ${id}`, `its journal has ${records.length} records more`);
  const known = new Set(exported.inbox.map((entry) => entry.id));
  if (inbox.some((entry) => !known.has(entry.id))) throw goesOn(`run ${id}`, "something has come for it");
  // What lies there is taken out before the end: only a pause keeps the run from taking it first.
  if (inbox.length > 0 && run.status !== "paused")
    throw goesOn(`run ${id}`, "it is not paused, and something lies in its inbox");
}

function endOf({ run, inbox }: Loaded, seq: number, outcome: string | null, at: number): readonly Transition[] {
  const { id: runId, epoch, turn, startId, status, inboxLast } = run;
  const end: Transition = {
    ...{ kind: "control", runId, epoch, posts: [], undo: null, controlId: `moved:${startId}` },
    state: { status: "cancelled", outcome, at },
    journal: { seen: { seq, status }, cutAfter: null, add: [], restore: [] },
  };
  if (inbox.length === 0) return [end];
  const take: Transition = {
    ...{ kind: "append", runId, epoch, turn, records: [], trim: [], posts: [], documents: [] },
    taken: inbox.map(({ n }) => n),
    ...{ state: null, undo: null, inbox: inboxLast, notBefore: null, transaction: null },
  };
  return [take, end];
}

function goesOn(who: string, why: string): PawlError {
  return new PawlError("RUN_GOES_ON", `${who}: ${why}. Nothing was ended: pause it, export it and import it again`);
}
