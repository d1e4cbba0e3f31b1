import type { ChildWaitedFor, Explanation, WaitingFor, Why } from "./explanation.ts";
import { sentenceOf } from "./explanation-sentence.ts";
import { type Failure, toError } from "./model/failure.ts";
import type { Codec } from "./model/payload.ts";
import type { JournalRecord } from "./model/record.ts";
import { isTerminal, type OpenWait, type Run } from "./model/run.ts";
import type { Reader, Store, WorkerRow } from "./store/store.ts";

/** How far back the last tries of a step, and the children that are waited for, are looked for. */
const RECORDS_MAX = 50;
const CHILDREN_MAX = 500;

/** What there is to know of a run. */
interface Facts {
  readonly run: Run;
  readonly workers: readonly WorkerRow[];
  /** The newest first. */
  readonly records: readonly JournalRecord[];
  readonly error: Error | null;
  readonly now: number;
}

/** Null: there is no such run. */
export async function explainRun(store: Store, codec: Codec, runId: string): Promise<Explanation | null> {
  const { reader } = store;
  const run = await reader.get(runId);
  if (run === null) return null;
  const [workers, records, waits] = await Promise.all([
    reader.workers(),
    reader.journal(runId, { afterSeq: run.baseSeq, limit: RECORDS_MAX, newestFirst: true }),
    isTerminal(run.status) ? [] : waitsOf(reader, run),
  ]);
  const failed = run.status !== "completed" && run.outcome !== null;
  const error = failed ? toError(codec.decode(run.outcome) as Failure) : null;
  const facts: Facts = { run, workers, records, error, now: store.now() };
  const why = whyOf(facts, (record) => toError(codec.decode(record.payload) as Failure));
  const [last] = records;
  const told = {
    runId,
    workflow: run.workflow,
    version: run.version,
    status: run.status,
    why,
    since: sinceOf(run, why),
    waits,
    waitsCount: isTerminal(run.status) ? 0 : (run.wait?.openCount ?? 0),
    owner: ownerOf(facts),
    workers: { live: live(facts).length, knowing: live(facts).filter((worker) => knows(worker, run)).length },
    nextDueAt: run.wakeAt,
    lastRecord: last === undefined ? null : lastRecord(last),
    at: facts.now,
  };
  return { ...told, sentence: sentenceOf(told) };
}

function whyOf(facts: Facts, errorOf: (record: JournalRecord) => Error): Why {
  const { run, error, now } = facts;
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (isTerminal(run.status)) {
    return error !== null && code === "POISONED"
      ? { kind: "poisoned", error }
      : { kind: "ended", status: run.status, error };
  }
  if (run.status === "paused") {
    return error !== null && code === "HISTORY_DIVERGED" ? { kind: "diverged", error } : { kind: "paused", error };
  }
  const dueAt = run.wakeAt !== null && run.wakeAt <= now ? run.wakeAt : null;
  const owner = ownerOf(facts);
  if (owner !== null && !owner.isAlive) return { kind: "ownerGone", owner: owner.id, silentSince: owner.expiresAt };
  if (owner === null && dueAt !== null) return unclaimed(facts, dueAt);
  if (run.status === "pending") return { kind: "delayed", until: run.wakeAt ?? now };
  if (run.status === "running" || run.wait === null) return { kind: "working" };
  return dueAt !== null ? { kind: "ready", dueAt } : resting(facts, run.wait.open, errorOf);
}

/** Due, and nobody has it. */
function unclaimed(facts: Facts, dueAt: number): Why {
  const { run } = facts;
  const known = live(facts).flatMap(({ workflows }) => workflows.filter(({ name }) => name === run.workflow));
  if (known.some(({ version }) => version === run.version)) return { kind: "waitsForRoom", dueAt, claims: run.claims };
  const versions = [...new Set(known.map(({ version }) => version))].sort((left, right) => left - right);
  return { kind: "noWorker", dueAt, versions };
}

function resting({ records }: Facts, open: readonly OpenWait[], errorOf: (record: JournalRecord) => Error): Why {
  const [next] = [...open].sort((left, right) => (left.until ?? 0) - (right.until ?? 0));
  if (next === undefined || open.some(({ kind }) => kind !== "retry")) return { kind: "waiting" };
  const { location, until } = next;
  const last = records.find((record) => record.kind === "retry" && record.location === location);
  const error = last === undefined ? null : errorOf(last);
  return { kind: "backingOff", location, attempts: last?.attempts ?? null, error, until };
}

function sinceOf(run: Run, why: Why): number | null {
  switch (why.kind) {
    case "ended":
    case "poisoned":
      return run.endedAt;
    case "delayed":
      return run.createdAt;
    case "noWorker":
    case "waitsForRoom":
    case "ready":
      return why.dueAt;
    case "ownerGone":
      return why.silentSince;
    case "backingOff":
    case "waiting":
      return run.wait?.since ?? null;
    case "working":
    case "paused":
    case "diverged":
      return null;
  }
}

function live({ workers, now }: Facts): readonly WorkerRow[] {
  return workers.filter(({ expiresAt }) => expiresAt > now);
}

function knows({ workflows }: WorkerRow, run: Run): boolean {
  return workflows.some(({ name, version }) => name === run.workflow && version === run.version);
}

function ownerOf({ run, workers, now }: Facts): Explanation["owner"] {
  if (run.owner === null) return null;
  const expiresAt = workers.find(({ id }) => id === run.owner)?.expiresAt ?? null;
  return { id: run.owner, isAlive: expiresAt !== null && expiresAt > now, expiresAt };
}

function lastRecord({ seq, location, kind, outcome, at }: JournalRecord): Explanation["lastRecord"] {
  return { seq, location, kind, outcome, at };
}

async function waitsOf(reader: Reader, { id, wait }: Run): Promise<readonly WaitingFor[]> {
  const open = wait?.open ?? [];
  const locations = open.flatMap(({ arms }) => arms.filter(({ kind }) => kind === "child").map(({ name }) => name));
  const children = await childrenAt(reader, id, new Set(locations));
  return open.map(({ location, kind, since, until, arms }) => {
    const names = (armKind: "message" | "event" | "child") =>
      arms.filter((arm) => arm.kind === armKind).map(({ name }) => name);
    const found = names("child").map((at) => children.get(at) ?? { location: at, runId: null, status: null });
    return { location, kind, since, until, messages: names("message"), topics: names("event"), children: found };
  });
}

/** The newest child at each location: one that was started there before may have been left behind by a rewind. */
async function childrenAt(
  reader: Reader,
  runId: string,
  locations: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ChildWaitedFor>> {
  const found = new Map<string, ChildWaitedFor>();
  if (locations.size === 0) return found;
  const { items } = await reader.children(runId, { limit: CHILDREN_MAX });
  for (const { id, status, parent } of items) {
    const location = parent?.location;
    if (location === undefined || !locations.has(location) || found.has(location)) continue;
    found.set(location, { location, runId: id, status });
  }
  return found;
}
