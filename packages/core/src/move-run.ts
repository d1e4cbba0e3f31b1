import { runNotFound } from "./handle.ts";
import { PawlError } from "./model/errors.ts";
import { childEndId, type InboxEntry } from "./model/inbox.ts";
import { checkTarget } from "./model/names.ts";
import type { CodecHook } from "./model/payload.ts";
import type { NewRecord } from "./model/record.ts";
import { isTerminal, type NewRun, type Run } from "./model/run.ts";
import type { RunState, Transition } from "./model/transition.ts";
import { awaitedChildren, endsOf } from "./rewind-plan.ts";
import { type ExportedRun, exportedRun, exportValues, type RunExport, readExport, type Values } from "./run-export.ts";
import { type Clock, systemClock } from "./runtime/clock.ts";
import type { Reader, Store } from "./store/store.ts";
import { type WholeRun, wholeRun } from "./whole-run.ts";

export interface MoveOptions {
  /** The one that the engines on this store have. */
  readonly codec?: CodecHook;
  /** The store is in use by an engine of this process: it is neither opened nor closed. */
  readonly keepOpen?: boolean;
  readonly clock?: Clock;
}

/** What an import brought in. */
export interface ImportReport {
  /** The run that was exported; those that it started came with it. */
  readonly runId: string;
  readonly imported: readonly string[];
  /** Runs that had been imported before. */
  readonly known: readonly string[];
}

const PAGE_RUNS = 100;
/** A family of more is no single piece of work any more. */
const RUNS_MAX = 10_000;

/**
 * A run, in whatever state, with those that it started, as data for `JSON.stringify`. Nothing of it is changed: a run that is to
 * go on elsewhere alone is paused first, and ended by `endExported` when it is there.
 *
 * ```ts
 * const text = JSON.stringify(await exportRun(sqliteStore("app.db"), "order-1"));
 * ```
 */
export async function exportRun(store: Store, runId: string, options: MoveOptions = {}): Promise<RunExport> {
  return await withStore(store, options, async () => {
    const values = exportValues(options.codec ?? null);
    const runs: ExportedRun[] = [];
    for (const pending = [checkTarget(runId)]; pending.length > 0; ) {
      const id = pending.shift() ?? "";
      const loaded = await store.load(id, 0);
      if (loaded === null && id === runId) throw runNotFound(id);
      if (loaded === null) continue;
      if (runs.length >= RUNS_MAX)
        throw new PawlError(
          "OPTION_INVALID",
          `run ${runId} has more than ${RUNS_MAX} runs below it; export them apart`,
        );
      const whole = wholeRun(loaded);
      runs.push(exportedRun(values, whole, await inboxOf(store.reader, whole)));
      pending.push(...(await childrenOf(store.reader, id)));
    }
    return { format: "pawl.run", version: 1, exportedAt: store.now(), runs };
  });
}

/** What lies there, and the ends of children that came while the family was read. */
async function inboxOf(
  reader: Reader,
  { run, records, inbox }: WholeRun,
): Promise<ReadonlyArray<Omit<InboxEntry, "n">>> {
  if (isTerminal(run.status)) return inbox;
  const there = new Set(inbox.map(({ id }) => id));
  const awaited = awaitedChildren(records).filter(({ location, child }) => !there.has(childEndId(location, child)));
  return [...inbox, ...(await endsOf(reader, awaited)).ends];
}

async function childrenOf(reader: Reader, runId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null && ids.length < RUNS_MAX; ) {
    const query = { limit: PAGE_RUNS, ...(cursor === undefined ? {} : { cursor }) };
    const page: Awaited<ReturnType<Reader["children"]>> = await reader.children(runId, query);
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
  }
  return ids.reverse();
}

/**
 * Takes exported runs in, as they were. One that had not ended goes on where a worker knows its workflow; one that was paused
 * stays so until it is resumed. Importing the same again changes nothing.
 */
export async function importRun(
  store: Store,
  exported: RunExport | string,
  options: MoveOptions = {},
): Promise<ImportReport> {
  const { runs } = readExport(exported);
  const values = exportValues(options.codec ?? null);
  return await withStore(store, options, async () => {
    const known: string[] = [];
    for (const run of runs) if (await isKnown(store.reader, run)) known.push(run.id);
    const fresh = runs.filter(({ id }) => !known.includes(id));
    const transitions = fresh.flatMap((run) => transitionsOf(values, run, store.now()));
    if (transitions.length > 0) await store.commit(transitions);
    return { runId: runs[0]?.id ?? "", imported: fresh.map(({ id }) => id), known };
  });
}

async function isKnown(reader: Reader, { id, startId }: ExportedRun): Promise<boolean> {
  const run: Run | null = await reader.get(id);
  if (run !== null && run.startId !== startId)
    throw new PawlError("RUN_EXISTS", `run ${id} exists, and is another than the exported one; nothing was imported`);
  return run !== null;
}

function transitionsOf(values: Values, exported: ExportedRun, now: number): readonly Transition[] {
  const { id, workflow, version, tags, parent, createdAt, startId, undo, generation, baseSeq, startedAt } = exported;
  const run: NewRun = {
    ...{ id, workflow, version, tags, parent, createdAt, startId, owner: null },
    input: values.in(exported.input),
    startAt: Math.max(exported.startAt ?? 0, now),
  };
  const records = exported.records.map(
    ({ seq: _, value, ...record }): NewRecord => ({ ...record, payload: values.in(value) }),
  );
  const inbox = exported.inbox.map(({ value, ...entry }) => ({ ...entry, value: values.in(value) }));
  const life = { startedAt, generation, baseSeq, seqs: exported.records.map(({ seq }) => seq) };
  const create: Transition = { kind: "create", run, history: { records, inbox, undo, life } };
  const made = [create, ...snapshotOf(values, exported)];
  const state = stateOf(values, exported, now);
  if (state === null) return made;
  const nothing = { posts: [], undo: null, journal: null } as const;
  return [...made, { kind: "control", runId: id, epoch: 1, state, ...nothing, controlId: `import:${startId}` }];
}

function snapshotOf(values: Values, { id, snapshot }: ExportedRun): readonly Transition[] {
  if (snapshot === undefined) return [];
  const attributes = { a: String(snapshot.seq) };
  const put = { kind: "snapshot", id, runId: id, body: values.in(snapshot.value), attributes };
  return [{ kind: "documents", documents: [{ put }] }];
}

/** What becomes of a run that does not go on by itself. */
function stateOf(values: Values, { status, outcome, endedAt }: ExportedRun, now: number): RunState | null {
  if (status === "paused") return { status, reason: values.in(outcome) };
  return isTerminal(status) ? { status, outcome: values.in(outcome), at: endedAt ?? now } : null;
}

/** Calls with the store open; one that is in use is left as it is. */
export async function withStore<Value>(store: Store, options: MoveOptions, call: () => Promise<Value>): Promise<Value> {
  if (options.keepOpen === true) return await call();
  const clock = options.clock ?? systemClock();
  await store.open({ now: () => clock.now(), every: () => () => undefined });
  try {
    return await call();
  } finally {
    await store.close();
  }
}
