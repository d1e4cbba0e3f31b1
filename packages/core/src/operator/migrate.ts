import { PawlError } from "../model/errors.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import { type ActOptions, noteAct, type Planned, type WholeRun, withoutSeq } from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { type ReplayFinding, tryOut } from "./replay-finding.ts";
import { actAt, awaitedChildren, endsOf } from "./rewind.ts";

/** Where records lie in the code that a run is moved to, by where they lie; null: they are not needed there. */
export type LocationMap = Readonly<Record<string, string | null>>;

export interface MigrateOptions extends ActOptions {
  /** Tries it out and changes nothing. */
  readonly dryRun?: boolean;
}

export interface Migration {
  readonly from: number;
  readonly to: number;
  /** How many records have another location, and how many were dropped. */
  readonly moved: number;
  readonly dropped: number;
  /** Why the run would not go on with that version; null: it does. */
  readonly finding: ReplayFinding | null;
  /** False: it was tried out only. */
  readonly done: boolean;
}

/** What a migration would make of a run that was read. The version's code is fed what the journal would be. */
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
  const { codec, config } = parts;
  const { run } = loaded;
  if (isTerminal(run.status)) throw new PawlError("RUN_ENDED", `run ${run.id} is ${run.status}; it can't be migrated`);
  const records = loaded.records.flatMap((record) => mapped(map, record));
  const { ends, open } = await endsOf(config.store.reader, renamedChildren(map, loaded.records));
  const [child] = open;
  if (child !== undefined)
    throw new PawlError("CHILD_OPEN", `run ${run.id}: the child ${child} is open, so its location can't be another`);
  const finding = await tried(parts, { ...loaded, snapshot: null, run: movedRun(run, version, map), records });
  const moved = records.filter(({ seq, location }) =>
    loaded.records.some((r) => r.seq === seq && r.location !== location),
  );
  const counts = { moved: moved.length, dropped: loaded.records.length - records.length };
  const result: Migration = { from: run.version, to: version, ...counts, finding, done: options.dryRun !== true };
  if (finding !== null && result.done)
    throw new PawlError("HISTORY_DIVERGED", `${finding.message}. The run was not migrated; map what lies elsewhere`);
  const act = noteAct(codec, "migrate", { id, target, result }, options, actAt(records, config.store.now()));
  return {
    change: { cutAfter: run.baseSeq, add: [...records.map(withoutSeq), act], restore: ends },
    posts: [],
    version,
    undo: run.undo,
    result,
  };
}

async function tried({ config, codec }: ControlParts, loaded: WholeRun): Promise<ReplayFinding | null> {
  const programs = new ProgramRegistry(config.workflows.values(), { ...config, codec, log: () => undefined });
  const { run } = loaded;
  if (programs.of(run) === null)
    throw new PawlError("WORKFLOW_UNKNOWN", `this engine has no code for ${run.workflow} in version ${run.version}`);
  const rejections = trackUnhandledRejections(() => undefined);
  try {
    const { eventLoop, random } = config.world;
    return await tryOut(loaded, programs, { codec, eventLoop: eventLoop, random, watched: rejections.watched });
  } finally {
    rejections.stop();
  }
}

function mapped(map: LocationMap, record: JournalRecord): readonly JournalRecord[] {
  if (record.kind === "operator") return [record];
  const location = mapLocation(map, record.location);
  return location === null ? [] : [{ ...record, location }];
}

/** What is said of a location holds for all that lies under it; the longest that fits counts. */
function mapLocation(map: LocationMap, location: string): string | null {
  for (let end = location.length; end > 0; end = location.lastIndexOf("/", end - 1)) {
    const path = location.slice(0, end);
    if (!Object.hasOwn(map, path)) continue;
    const to = map[path] ?? null;
    return to === null ? null : to + location.slice(end);
  }
  return location;
}

/** Children whose end the run waits for, where it will wait for it. */
function renamedChildren(map: LocationMap, records: readonly JournalRecord[]): ReturnType<typeof awaitedChildren> {
  return awaitedChildren(records).flatMap(({ location, child }) => {
    const to = mapLocation(map, location);
    return to === null || to === location ? [] : [{ location: to, child }];
  });
}

/** The run as it would be: what it waits for lies elsewhere too. */
function movedRun(run: Run, version: number, map: LocationMap): Run {
  if (run.wait === null) return { ...run, version };
  const open = run.wait.open.flatMap((wait) => {
    const location = mapLocation(map, wait.location);
    return location === null ? [] : [{ ...wait, location }];
  });
  return { ...run, version, wait: { ...run.wait, open } };
}
