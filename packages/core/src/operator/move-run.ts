import { checkCodecReadOnly } from "../engine/codec-check.ts";
import { ENGINE_KINDS, STORE } from "../engine/config.ts";
import { runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import { toFailure } from "../model/failure.ts";
import { childEndId, type InboxEntry } from "../model/inbox.ts";
import { checkTarget } from "../model/names.ts";
import { kinds, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { CodecHook } from "../model/payload.ts";
import type { NewRecord } from "../model/record.ts";
import { isTerminal, type NewRun, type Run } from "../model/run.ts";
import type { RunState, Transition } from "../model/transition.ts";
import { awaitedChildren } from "../rules/awaited-children.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { callStore, openStore } from "../store/open-store.ts";
import type { Loaded, Reader, Store } from "../store/store.ts";
import { type WholeRun, wholeRun } from "./action.ts";
import { endsOf } from "./rewind.ts";
import { type ExportedRun, exportedRun, exportValues, type RunExport, readExport, type Values } from "./run-export.ts";

export interface MoveOptions {
  /** The codec of the engines on this store. */
  readonly codec?: CodecHook;
  /** Set it if an engine of this process uses the store: the store is then neither opened nor closed. */
  readonly keepOpen?: boolean;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const OPTIONS = optionTable<MoveOptions>("the call", {
  codec: ENGINE_KINDS.codec,
  keepOpen: kinds.flag,
  clock: kinds.withMethods("a clock", "now"),
});

export interface ImportReport {
  /** The id of the exported run. */
  readonly runId: string;
  /** Ids of the imported runs: the exported run and its descendants, without `known`. */
  readonly imported: readonly string[];
  /** Ids of runs that the store already had. */
  readonly known: readonly string[];
}

const PAGE_RUNS = 100;
/** The maximum number of runs in one export. */
const RUNS_MAX = 10_000;

/**
 * Exports a run in any state, with its descendants, as data for `JSON.stringify`. Changes nothing. To move a run to another store,
 * pause it before the export and call `endExported` after the import.
 *
 * ```ts
 * const text = JSON.stringify(await exportRun(sqliteStore("app.db"), "order-1"));
 * ```
 */
export async function exportRun(store: Store, runId: string, given?: MoveOptions): Promise<RunExport> {
  readArgument(STORE, store, "store");
  const options = readOptions(OPTIONS, given);
  checkTarget(runId);
  return await withStore(store, options, async () => {
    const values = exportValues(options.codec ?? null);
    const runs: ExportedRun[] = [];
    for (const pending = [runId]; pending.length > 0; ) {
      const id = pending.shift() ?? "";
      const loaded = await store.load(id, 0);
      if (loaded === null && id === runId) throw runNotFound(id);
      if (loaded === null) continue;
      if (runs.length >= RUNS_MAX)
        throw new PawlError(
          "OPTION_INVALID",
          `run ${runId} has more than ${RUNS_MAX} descendants; export its children separately`,
        );
      const whole = wholeRun(loaded);
      runs.push(exportedRun(values, whole, await inboxOf(store.reader, whole)));
      pending.push(...(await childrenOf(store.reader, id)));
    }
    return { format: "pawl.run", version: 1, exportedAt: store.now(), runs };
  });
}

/** The inbox, plus ends of children that were delivered after the run was loaded. */
async function inboxOf(
  reader: Reader,
  { run, records, inbox }: WholeRun,
): Promise<ReadonlyArray<Omit<InboxEntry, "n">>> {
  if (isTerminal(run.status)) return inbox;
  const there = new Set(inbox.map(({ id }) => id));
  const awaited = awaitedChildren(records).filter(({ location, child }) => !there.has(childEndId(location, child)));
  return [...inbox, ...(await endsOf("export", reader, awaited)).ends];
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
 * Imports exported runs in the state they had. An open run resumes on a worker that has its workflow. A paused run stays paused.
 * A repeated import changes nothing.
 */
export async function importRun(
  store: Store,
  exported: RunExport | string,
  given?: MoveOptions,
): Promise<ImportReport> {
  readArgument(STORE, store, "store");
  const options = readOptions(OPTIONS, given);
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
    throw new PawlError("RUN_EXISTS", `the store has a different run with id ${id}; nothing was imported`);
  return run !== null;
}

function transitionsOf(values: Values, exported: ExportedRun, now: number): readonly Transition[] {
  const { id, workflow, version, tags, parent, createdAt, startId, undo, generation, baseSeq, startedAt } = exported;
  const run: NewRun = {
    ...{ id, workflow, version, tags, parent, createdAt, startId, owner: null },
    input: values.in(exported.input),
    startAt: Math.max(exported.startAt ?? 0, now),
    ...(exported.limits === undefined ? {} : { limits: exported.limits }),
  };
  const records = exported.records.map(
    ({ seq: _, value, ...record }): NewRecord => ({
      ...record,
      payload: record.outcome === "failed" ? values.failureIn(value) : values.in(value),
    }),
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

/** The state of an ended or paused run. Null for other runs: they resume when a worker claims them. */
function stateOf(values: Values, { status, outcome, endedAt }: ExportedRun, now: number): RunState | null {
  if (status === "paused") return { status, reason: values.failureIn(outcome) };
  if (!isTerminal(status)) return null;
  const payload = status === "completed" ? values.in(outcome) : values.failureIn(outcome);
  return { status, outcome: payload, at: endedAt ?? now };
}

/** Opens the store for the call, unless `keepOpen` is set. */
async function withStore<Value>(store: Store, options: MoveOptions, call: () => Promise<Value>): Promise<Value> {
  const checked = async (): Promise<Value> => {
    await checkCodecReadOnly(store.reader, options.codec ?? null);
    return await call();
  };
  if (options.keepOpen === true) return await callStore(checked);
  const clock = options.clock ?? systemClock();
  await openStore(store, { now: () => clock.now(), every: () => () => undefined });
  try {
    return await callStore(checked);
  } finally {
    await store.close();
  }
}

/**
 * Ends exported runs in the store they were exported from, after they were imported elsewhere. They become `cancelled`, with code
 * `RUN_MOVED`. No step is rolled back, and no dead letters are written for their inboxes. If a run has changed since the export, the
 * call rejects with `RUN_GOES_ON`, so pause a run before you export it. Returns the ids of the runs that were open. A repeated call
 * changes nothing.
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
  given?: MoveOptions,
): Promise<readonly string[]> {
  readArgument(STORE, store, "store");
  const options = readOptions(OPTIONS, given);
  const { runs } = readExport(exported);
  const { codec = null } = options;
  const moved = new PawlError("RUN_MOVED", "the run was moved to another store and continues there");
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
      throw changed(`one of ${ends.map(({ id }) => id).join(", ")} changed during the call`);
    return ends.map(({ id }) => id);
  });
}

function newestSeq({ records, baseSeq }: ExportedRun): number {
  return records.at(-1)?.seq ?? baseSeq;
}

/** Throws if the run in the store has changed since the export. */
function checkUnchanged(exported: ExportedRun, { run, records, inbox }: Loaded, all: readonly ExportedRun[]): void {
  const { id, startId, status, parent } = exported;
  if (run.startId !== startId)
    throw new PawlError("RUN_EXISTS", `the store has a different run with id ${id}; nothing was ended`);
  if (parent !== null && !all.some((other) => other.id === parent.runId))
    throw new PawlError(
      "OPTION_INVALID",
      `parent ${parent.runId} of run ${id} is not in the export; export the parent`,
    );
  if (run.status !== status) throw changed(`run ${id} was ${status} when it was exported and is ${run.status}`);
  if (records.length > 0) throw changed(`the journal of run ${id} has ${records.length} new records`);
  const known = new Set(exported.inbox.map((entry) => entry.id));
  if (inbox.some((entry) => !known.has(entry.id))) throw changed(`the inbox of run ${id} has new entries`);
  // `endOf` empties the inbox before it ends the run. Unless the run is paused, its owner could receive an entry first.
  if (inbox.length > 0 && run.status !== "paused")
    throw changed(`run ${id} is not paused and has messages in its inbox`);
}

/** Empties the inbox, so that the end of the run writes no dead letters, and ends the run. */
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

function changed(what: string): PawlError {
  return new PawlError("RUN_GOES_ON", `${what}; nothing was ended; pause the run, then export and import it again`);
}
