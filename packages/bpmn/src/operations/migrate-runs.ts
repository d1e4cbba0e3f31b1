import { kinds, optionTable, PawlError, type RecordView, type RunSummary } from "pawl";
import type { Definitions } from "../deployment/definitions.ts";
import type { Evaluate } from "../expressions.ts";
import type { ProcessEngine } from "../program/process-engine.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { toSnapshotState } from "../program/process-snapshot.ts";
import { rebuildState } from "../program/rebuild-state.ts";
import { checkMigration, type ElementMap, type MigrationCheck, type MigrationProblem } from "./migration-check.ts";

export interface MigrateRunsOptions {
  /** New ids of renamed elements and flows. Other ids stay the same. */
  readonly map?: ElementMap;
  /** Report problems without changing anything. */
  readonly dryRun?: boolean;
  /** Who migrates the runs and why, for the journal. */
  readonly by?: string;
  readonly why?: string;
}

export const MIGRATE_OPTIONS = optionTable<MigrateRunsOptions>("migrate", {
  map: kinds.map(kinds.text),
  dryRun: kinds.flag,
  by: kinds.text,
  why: kinds.text,
});

/** The result for one run. */
export interface MigratedRun {
  readonly runId: string;
  /** Null if the run was not found. */
  readonly from: number | null;
  /**
   * - `migrated`: the run continues in the target version.
   * - `ready`: a dry run found no problems.
   * - `refused`: see `problems`.
   * - `same`: the run already has the target version.
   * - `failed`: see `error`.
   */
  readonly outcome: "migrated" | "ready" | "refused" | "same" | "failed";
  readonly problems: readonly MigrationProblem[];
  readonly notes: readonly MigrationProblem[];
  readonly error: string | null;
}

export interface RunMigrationReport {
  readonly to: number;
  readonly migrated: number;
  readonly runs: readonly MigratedRun[];
}

interface Parts {
  readonly engine: ProcessEngine;
  readonly definitions: Definitions;
  readonly evaluate: Evaluate;
}

/** Migrates runs to another version, one by one. A problem of one run does not affect the others. */
export async function migrateRuns(
  parts: Parts,
  runIds: readonly string[],
  version: number,
  options: MigrateRunsOptions,
): Promise<RunMigrationReport> {
  const runs: MigratedRun[] = [];
  for (const runId of runIds) runs.push(await migrateOne(parts, runId, version, options));
  return { to: version, migrated: runs.filter(({ outcome }) => outcome === "migrated").length, runs };
}

async function migrateOne(
  parts: Parts,
  runId: string,
  version: number,
  options: MigrateRunsOptions,
): Promise<MigratedRun> {
  const report = (from: number | null, over: Partial<MigratedRun>): MigratedRun => {
    return { runId, from, outcome: "failed", problems: [], notes: [], error: null, ...over };
  };
  const run = await parts.engine.get(runId);
  if (run === null) return report(null, { error: `run ${runId} not found` });
  if (run.version === version) return report(version, { outcome: "same" });
  try {
    if (options.dryRun === true) {
      if (run.endedAt !== null) return report(run.version, { error: `run ${runId} is ${run.status}` });
      const records = await parts.engine.run(runId).journal();
      const { problems, notes } = await checkRun(parts, run, records, version, options.map ?? {});
      return report(run.version, { outcome: problems.length === 0 ? "ready" : "refused", problems, notes });
    }
    const notes = await move(parts, run, version, options);
    return report(run.version, { outcome: "migrated", notes });
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    const { problems = [] } = error as { readonly problems?: readonly MigrationProblem[] };
    const isRefused = error.code === "MIGRATION_INVALID";
    return report(run.version, { outcome: isRefused ? "refused" : "failed", problems, error: error.message });
  }
}

/** Restarts the run in the target version with its current state. Open tasks are kept. */
async function move(
  parts: Parts,
  { id, workflow }: RunSummary,
  version: number,
  { map = {}, by, why }: MigrateRunsOptions,
): Promise<readonly MigrationProblem[]> {
  await parts.definitions.startable(workflow, version);
  const who = { ...(by !== undefined && { by }), ...(why !== undefined && { why }) };
  return await parts.engine.restart<readonly MigrationProblem[]>(id, version, {
    ...who,
    plan: async ({ run, records }) => {
      const { problems, notes, state } = await checkRun(parts, run, records, version, map);
      if (problems.length > 0) {
        const text = problems.map((problem) => `${problem.element}: ${problem.text}`).join("; ");
        const error = new PawlError(
          "MIGRATION_INVALID",
          `cannot migrate run ${id} from version ${run.version}: ${text}`,
        );
        throw Object.assign(error, { problems });
      }
      const input = run.input as ProcessInput;
      const editions = (input.migrated?.editions ?? 0) + records.filter(isRewrite).length;
      const migrated = { from: run.version, machine: toSnapshotState(state), editions };
      return { input: { ...input, migrated }, result: notes };
    },
  });
}

function isRewrite({ kind, detail }: RecordView): boolean {
  return kind === "operator" && (detail === "rewind" || detail === "retry" || detail === "fork");
}

async function checkRun(
  { definitions, evaluate }: Parts,
  run: RunSummary,
  records: readonly RecordView[],
  version: number,
  map: ElementMap,
): Promise<MigrationCheck> {
  const { process } = await definitions.version(run.workflow, run.version);
  const { process: to } = await definitions.version(run.workflow, version);
  const state = rebuildState(
    process,
    evaluate,
    { ...run, input: run.input as ProcessInput },
    { snapshot: null, records },
  );
  return checkMigration(state, to, map);
}
