import { durationText } from "../model/duration.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type OpenWait, type Run, type Status, type TerminalStatus } from "../model/run.ts";
import type { Reader, Store, WorkerRow } from "../store/store.ts";

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

/** How many waits a sentence names before it counts the rest. */
const NAMED_MAX = 3;

/** What a run's explanation says to people. */
export function sentenceOf(told: Omit<Explanation, "sentence">): string {
  return `run ${told.runId} of ${told.workflow} v${told.version} ${predicate(told)}`;
}

function predicate(told: Omit<Explanation, "sentence">): string {
  const { why, status, at, owner } = told;
  switch (why.kind) {
    case "ended":
    case "poisoned":
      return `${status === "cancelled" ? "was cancelled" : status}${since(told)}${reason(why.error)}`;
    case "diverged":
    case "paused":
      return `is paused${reason(why.error)}`;
    case "delayed":
      return `is pending: it begins in ${durationText(why.until - at)}`;
    case "noWorker":
      return `is ${status} and due${since(told)}, but ${nobodyKnows(told, why.versions)}`;
    case "waitsForRoom":
      return `is ${status} and due${since(told)}: it waits for a worker with room${suspicion(why.claims)}`;
    case "ownerGone":
      return `is ${status}, but its worker ${why.owner} is silent: another takes it over when the lease is over`;
    case "working":
      return `is ${status}: worker ${owner?.id} works on it${lastly(told)}`;
    case "ready":
      return `is ${status}: something has come for it, and worker ${owner?.id} goes on with it`;
    case "backingOff": {
      const tries = why.attempts === null ? "" : ` ${why.attempts} ${why.attempts === 1 ? "time" : "times"}`;
      const next = why.until === null ? "" : `; the next try is in ${durationText(Math.max(0, why.until - at))}`;
      return `is ${status}: ${why.location} failed${tries}${bracketed(why.error)}${next}`;
    }
    case "waiting":
      return `is ${status}${since(told, "for")}: it waits for ${waitsText(told)}`;
  }
}

function since({ since: from, at }: Omit<Explanation, "sentence">, form: "ago" | "for" = "ago"): string {
  if (from === null) return "";
  const text = durationText(Math.max(0, at - from));
  return form === "for" ? ` for ${text}` : ` ${text} ago`;
}

function reason(error: Error | null): string {
  return error === null ? "" : `: ${error.message}`;
}

function bracketed(error: Error | null): string {
  return error === null ? "" : ` (${error.message})`;
}

function nobodyKnows(told: Omit<Explanation, "sentence">, versions: readonly number[]): string {
  if (told.workers.live === 0) return "no worker is alive";
  const what = `no live worker knows ${told.workflow} v${told.version}`;
  return versions.length === 0 ? what : `${what}, only ${versions.map((version) => `v${version}`).join(", ")}`;
}

function suspicion(claims: number): string {
  return claims < 2 ? "" : `; it was claimed ${claims} times without progress, so it is worked on beside no other such`;
}

function lastly({ lastRecord, at }: Omit<Explanation, "sentence">): string {
  if (lastRecord === null) return "; it has no record yet";
  return `; its last record is ${lastRecord.kind} at ${lastRecord.location}, ${durationText(Math.max(0, at - lastRecord.at))} ago`;
}

function waitsText(told: Omit<Explanation, "sentence">): string {
  const named = told.waits.slice(0, NAMED_MAX).map((wait) => waitText(wait, told.at));
  const rest = told.waitsCount - named.length;
  if (named.length === 0) return "something";
  return rest === 0 ? named.join(" and ") : `${named.join(", ")} and ${rest} more`;
}

function waitText({ location, kind, until, messages, topics, children }: WaitingFor, at: number): string {
  const left = until === null ? null : durationText(Math.max(0, until - at));
  const things = [
    ...messages.map((name) => `message ${name}`),
    ...topics.map((name) => `an event on ${name}`),
    ...children.map(
      ({ runId, location: place, status }) => `child ${runId ?? place}${status === null ? "" : ` (${status})`}`,
    ),
  ];
  if (things.length > 0) return `${things.join(" or ")} at ${location}${left === null ? "" : `, at most ${left} more`}`;
  const what = kind === "retry" ? "the next try of" : "the end of";
  return `${what} ${location}${left === null ? "" : ` in ${left}`}`;
}

/** One thing that a run waits for. */
export interface WaitingFor {
  readonly location: string;
  /** The kind of the record that will end it; `retry`: the next try of the step there. */
  readonly kind: string;
  readonly since: number | null;
  /** Its deadline, epoch ms. */
  readonly until: number | null;
  readonly messages: readonly string[];
  readonly topics: readonly string[];
  readonly children: readonly ChildWaitedFor[];
}

export interface ChildWaitedFor {
  readonly location: string;
  /** Null where the child was not found among the newest children. */
  readonly runId: string | null;
  readonly status: Status | null;
}

/** Why a run is where it is. */
export type Why =
  | { readonly kind: "ended"; readonly status: TerminalStatus; readonly error: Error | null }
  /** It ended its workers again and again without making progress. */
  | { readonly kind: "poisoned"; readonly error: Error }
  /** Its code does not fit its journal; it goes on when fixed code is deployed and it is resumed. */
  | { readonly kind: "diverged"; readonly error: Error }
  | { readonly kind: "paused"; readonly error: Error | null }
  /** It was started with a delay. */
  | { readonly kind: "delayed"; readonly until: number }
  /** It is due, and no worker that lives knows its workflow in its version; `versions` are those that are known. */
  | { readonly kind: "noWorker"; readonly dueAt: number; readonly versions: readonly number[] }
  /** It is due, and is taken when a worker has room. After claims without progress it is worked on beside no other such. */
  | { readonly kind: "waitsForRoom"; readonly dueAt: number; readonly claims: number }
  /** Its worker is silent for longer than its lease: another takes the run over. */
  | { readonly kind: "ownerGone"; readonly owner: string; readonly silentSince: number | null }
  | { readonly kind: "working" }
  /** Something has come, or a deadline: its worker is about to go on. */
  | { readonly kind: "ready"; readonly dueAt: number }
  /** A step failed and is tried again. */
  | {
      readonly kind: "backingOff";
      readonly location: string;
      readonly attempts: number | null;
      readonly error: Error | null;
      readonly until: number | null;
    }
  | { readonly kind: "waiting" };

/** Where a run is and why, as it was at `at`. */
export interface Explanation {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: Status;
  readonly why: Why;
  /** The same for people, in one line. */
  readonly sentence: string;
  /** When it ended, came to rest, or became due, by `why`; null where nothing says so. */
  readonly since: number | null;
  /** At most 20; `waitsCount` says how many there are. */
  readonly waits: readonly WaitingFor[];
  readonly waitsCount: number;
  readonly owner: { readonly id: string; readonly isAlive: boolean; readonly expiresAt: number | null } | null;
  /** Workers that live, and how many of them know the run's workflow in its version. */
  readonly workers: { readonly live: number; readonly knowing: number };
  /** When a worker looks at it next if nothing comes before. */
  readonly nextDueAt: number | null;
  readonly lastRecord: Pick<JournalRecord, "seq" | "location" | "kind" | "outcome" | "at"> | null;
  readonly at: number;
}
