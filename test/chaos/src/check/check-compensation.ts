import type { Evidence, Finding, RunDump } from "./evidence.ts";

/** The detail of the record of a step with a rollback. */
const UNDOABLE = "rollback";

/**
 * Every recorded effect of a failed or cancelled run, and of the children that it did not abandon, is undone or reported. A rollback
 * that failed finally is reported by the record of the rollback and by the failure of the run.
 */
export function checkCompensation({ runs }: Evidence): readonly Finding[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  return runs.flatMap((run): readonly Finding[] => {
    const parent = run.parent === null ? undefined : byId.get(run.parent.runId);
    const isUnwanted = run.status === "completed" && parent !== undefined && isUndone(parent);
    const undoRun = isUnwanted ? byId.get(`${run.id}//~undo`) : run;
    if (isUnwanted && effectsOf(run).length > 0 && undoRun === undefined)
      return [
        {
          kind: "lost",
          text: `run ${parent.id} is ${parent.status}, but its child ${run.id} completed and was not undone`,
        },
      ];
    return isUndone(run) || isUnwanted ? checkUndone(run, undoRun) : [];
  });
}

function isUndone({ status }: RunDump): boolean {
  return status === "failed" || status === "cancelled";
}

function effectsOf({ records }: RunDump): readonly string[] {
  return records.flatMap(({ kind, outcome, detail, location }) =>
    kind === "step" && outcome === "ok" && detail === UNDOABLE ? [location] : [],
  );
}

function checkUndone(run: RunDump, undoRun: RunDump | undefined): readonly Finding[] {
  const done = new Set(undoRun?.records.flatMap(({ kind, location }) => (kind === "rollback" ? [location] : [])));
  return effectsOf(run).flatMap((location): readonly Finding[] =>
    done.has(`${location}/~rollback`)
      ? []
      : [{ kind: "lost", text: `the effect of ${location} of run ${run.id} is neither undone nor reported` }],
  );
}
