import { PawlError } from "../model/errors.ts";
import { kinds, optionTable } from "../model/option-check.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { awaitedChildren } from "../rules/awaited-children.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import { ACT_KINDS, type ActOptions, actionRecord, type Planned, type WholeRun, withoutSeq } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { checkLoaded, type ReplayFinding } from "./replay-finding.ts";
import { actionTime, endsOf } from "./rewind.ts";

/** The location of each record in the target version, by its location in the journal. Null drops the record. */
export type LocationMap = Readonly<Record<string, string | null>>;

export interface MigrateOptions extends ActOptions {
  /** Checks whether the run can be migrated, and changes nothing. */
  readonly dryRun?: boolean;
}

export const MIGRATE_OPTIONS = optionTable<MigrateOptions>("migrate", { ...ACT_KINDS, dryRun: kinds.flag });
export const LOCATION_MAP = kinds.map(kinds.nullable(kinds.text));

export interface Migration {
  readonly from: number;
  readonly to: number;
  /** The number of records with a new location. */
  readonly moved: number;
  /** The number of dropped records. */
  readonly dropped: number;
  /** Why the run could not continue in the target version. Null if it can. */
  readonly finding: ReplayFinding | null;
  /** False after a dry run. */
  readonly done: boolean;
}

/** Maps the journal to the target version, and replays it against that version's code without effects. */
export async function planMigration(
  parts: ControlParts,
  loaded: WholeRun,
  {
    version,
    map,
    id,
    target,
  }: { readonly version: number; readonly map: LocationMap; readonly id: string; readonly target: string },
  options: MigrateOptions,
): Promise<Planned<Migration>> {
  const { codec, config, worker } = parts;
  const { run } = loaded;
  if (isTerminal(run.status)) throw new PawlError("RUN_ENDED", `run ${run.id} is ${run.status} and cannot be migrated`);
  const records = loaded.records.flatMap((record) => mapped(map, record));
  const { ends, open } = await endsOf("migrate", worker.reader, renamedChildren(map, loaded.records));
  const [child] = open;
  if (child !== undefined)
    throw new PawlError(
      "CHILD_OPEN",
      `cannot migrate run ${run.id}: the map moves the location of child ${child.id}, which is still open; wait until it has ended`,
    );
  const finding = await checkMapped(parts, { ...loaded, snapshot: null, run: movedRun(run, version, map), records });
  const moved = records.filter(({ seq, location }) =>
    loaded.records.some((r) => r.seq === seq && r.location !== location),
  );
  const counts = { moved: moved.length, dropped: loaded.records.length - records.length };
  const result: Migration = { from: run.version, to: version, ...counts, finding, done: options.dryRun !== true };
  if (finding !== null && result.done)
    throw new PawlError(
      "HISTORY_DIVERGED",
      `${finding.message}; the run was not migrated; map the locations that changed`,
    );
  const action = actionRecord(
    codec,
    "migrate",
    { id, target, result },
    options,
    actionTime(records, config.store.now()),
  );
  return {
    change: { cutAfter: run.baseSeq, add: [...records.map(withoutSeq), action], restore: ends },
    posts: [],
    version,
    undo: run.undo,
    result,
  };
}

async function checkMapped({ config, codec }: ControlParts, loaded: WholeRun): Promise<ReplayFinding | null> {
  const programs = new ProgramRegistry(config.workflows.values(), { ...config, codec, log: () => undefined });
  const { run } = loaded;
  if (programs.of(run) === null)
    throw new PawlError(
      "WORKFLOW_UNKNOWN",
      `this engine has no workflow ${run.workflow} version ${run.version}; register it`,
    );
  const rejections = trackUnhandledRejections(() => undefined);
  try {
    const { eventLoop, random } = config.world;
    return await checkLoaded(loaded, programs, { codec, eventLoop, random, watched: rejections.watched });
  } finally {
    rejections.stop();
  }
}

function mapped(map: LocationMap, record: JournalRecord): readonly JournalRecord[] {
  if (record.kind === "operator") return [record];
  const location = mapLocation(map, record.location);
  return location === null ? [] : [{ ...record, location }];
}

/** An entry of the map applies to its location and to all locations below it. The longest matching entry is used. */
function mapLocation(map: LocationMap, location: string): string | null {
  for (let end = location.length; end > 0; end = location.lastIndexOf("/", end - 1)) {
    const path = location.slice(0, end);
    if (!Object.hasOwn(map, path)) continue;
    const to = map[path] ?? null;
    return to === null ? null : to + location.slice(end);
  }
  return location;
}

/** Awaited children whose location changes, with their new location. */
function renamedChildren(map: LocationMap, records: readonly JournalRecord[]): ReturnType<typeof awaitedChildren> {
  return awaitedChildren(records).flatMap(({ location, child }) => {
    const to = mapLocation(map, location);
    return to === null || to === location ? [] : [{ location: to, child }];
  });
}

/** The run in the target version, with its open waits at their new locations. */
function movedRun(run: Run, version: number, map: LocationMap): Run {
  if (run.wait === null) return { ...run, version };
  const open = run.wait.open.flatMap((wait) => {
    const location = mapLocation(map, wait.location);
    return location === null ? [] : [{ ...wait, location }];
  });
  return { ...run, version, wait: { ...run.wait, open } };
}
