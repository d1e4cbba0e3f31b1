import { durationText } from "../model/duration.ts";
import { type Failure, toError } from "../model/failure.ts";
import { type Codec, readingOf } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type OpenWait, type Payload, type Run, type Status, type TerminalStatus } from "../model/run.ts";
import type { Reader, Store, WorkerRow } from "../store/store.ts";

/** The newest records that are searched for the last attempt of a step. */
const RECORDS_MAX = 50;
/** The newest children that are searched for awaited ones. */
const CHILDREN_MAX = 500;

/** The rows that an explanation is made from. */
interface Facts {
  readonly run: Run;
  readonly workers: readonly WorkerRow[];
  /** Newest first. */
  readonly records: readonly JournalRecord[];
  readonly error: Error | null;
  readonly now: number;
}

/** Returns null if the run does not exist. */
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
  const errorOf = (payload: Payload, what: string): Error => {
    const { value, unreadable } = readingOf<Failure>(codec, payload, what);
    return unreadable ?? toError(value);
  };
  const error = failed
    ? errorOf(run.outcome, run.status === "paused" ? "the reason of its pause" : "its failure")
    : null;
  const facts: Facts = { run, workers, records, error, now: store.now() };
  const why = whyOf(facts, ({ payload, location }) => errorOf(payload, `the failure at ${location}`));
  const [last] = records;
  const explanation = {
    runId,
    workflow: run.workflow,
    version: run.version,
    status: run.status,
    why,
    since: sinceOf(run, why),
    waits,
    waitsCount: isTerminal(run.status) ? 0 : (run.wait?.openCount ?? 0),
    owner: ownerOf(facts),
    workers: { live: live(facts).length, knowing: live(facts).filter((worker) => hasWorkflow(worker, run)).length },
    nextDueAt: run.wakeAt,
    ...limitsOf(run),
    lastRecord: last === undefined ? null : lastRecord(last),
    at: facts.now,
  };
  return { ...explanation, sentence: sentenceOf(explanation) };
}

function limitsOf({ status, limits, startedAt }: Run): Pick<Explanation, "deadlineAt" | "expireAt"> {
  if (limits === undefined || isTerminal(status)) return { deadlineAt: null, expireAt: null };
  return { deadlineAt: limits.deadlineAt, expireAt: startedAt === null ? limits.expireAt : null };
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
    if (error !== null && code === "HISTORY_DIVERGED") return { kind: "diverged", error };
    if (error !== null && code === "CODE_ERROR") return { kind: "codeError", error };
    return error !== null && code === "PAYLOAD_UNREADABLE" ? { kind: "unreadable", error } : { kind: "paused", error };
  }
  const dueAt = run.wakeAt !== null && run.wakeAt <= now ? run.wakeAt : null;
  const owner = ownerOf(facts);
  if (owner !== null && !owner.isAlive) return { kind: "ownerGone", owner: owner.id, silentSince: owner.expiresAt };
  if (owner === null && dueAt !== null) return unclaimed(facts, dueAt);
  if (run.status === "pending") return { kind: "delayed", until: run.wakeAt ?? now };
  if (run.status === "running" || run.wait === null) return { kind: "working" };
  return dueAt !== null ? { kind: "ready", dueAt } : suspended(facts, run.wait.open, errorOf);
}

/** The run is due and has no owner. */
function unclaimed(facts: Facts, dueAt: number): Why {
  const { run } = facts;
  const known = live(facts).flatMap(({ workflows }) => workflows.filter(({ name }) => name === run.workflow));
  if (known.some(({ version }) => version === run.version)) return { kind: "waitsForRoom", dueAt, claims: run.claims };
  const versions = [...new Set(known.map(({ version }) => version))].sort((left, right) => left - right);
  return { kind: "noWorker", dueAt, versions };
}

function suspended({ records }: Facts, open: readonly OpenWait[], errorOf: (record: JournalRecord) => Error): Why {
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
    case "codeError":
    case "unreadable":
      return null;
  }
}

function live({ workers, now }: Facts): readonly WorkerRow[] {
  return workers.filter(({ expiresAt }) => expiresAt > now);
}

function hasWorkflow({ workflows }: WorkerRow, run: Run): boolean {
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

/** The newest child at each location. A rewind may have left older children at the same location. */
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

/** The number of waits that a sentence names. It counts the others. */
const NAMED_MAX = 3;

type Unworded = Omit<Explanation, "sentence">;

function sentenceOf(explanation: Unworded): string {
  const { runId, workflow, version } = explanation;
  return `run ${runId} of ${workflow} v${version} ${predicate(explanation)}${limitsText(explanation)}`;
}

function limitsText({ deadlineAt, expireAt, at }: Unworded): string {
  const inText = (time: number): string => durationText(Math.max(0, time - at));
  const expiry = expireAt === null ? "" : `; it fails if it has not started in ${inText(expireAt)}`;
  return deadlineAt === null ? expiry : `${expiry}; its deadline is in ${inText(deadlineAt)}`;
}

function predicate(explanation: Unworded): string {
  const { why, runId, status, at, owner } = explanation;
  switch (why.kind) {
    case "ended":
    case "poisoned": {
      const ended = status === "cancelled" ? "was cancelled" : status;
      return `${ended}${elapsed(explanation, "ago")}${reason(runId, why.error)}`;
    }
    case "diverged":
    case "codeError":
      return withoutRun(runId, why.error.message);
    case "unreadable":
      // The error of a run that this reader's codec cannot explain does not start with the run.
      return `${why.error.message.startsWith(`run ${runId} `) ? "" : "is paused; "}${withoutRun(runId, why.error.message)}`;
    case "paused":
      return `is paused${reason(runId, why.error)}`;
    case "delayed":
      return `is pending; it starts in ${durationText(why.until - at)}`;
    case "noWorker":
      return `has been due${elapsed(explanation, "for")}; ${noWorkerText(explanation, why.versions)}`;
    case "waitsForRoom":
      return `has been due${elapsed(explanation, "for")}, waiting for a worker with a free slot${suspectText(why.claims)}`;
    case "ownerGone":
      return `is ${status}; worker ${why.owner} stopped sending heartbeats and its lease expired; another worker takes over`;
    case "working":
      return `is ${status} on worker ${owner?.id}; ${lastRecordText(explanation)}`;
    case "ready":
      return `is ${status} and ready; worker ${owner?.id} is about to resume it`;
    case "backingOff": {
      const attempt = why.attempts === null ? "next attempt" : `attempt ${why.attempts + 1}`;
      const next = why.until === null ? "" : ` in ${durationText(Math.max(0, why.until - at))}`;
      const error = why.error === null ? "" : `; last error: ${why.error.message}`;
      return `is retrying ${why.location}: ${attempt}${next}${error}`;
    }
    case "waiting":
      return `has been ${status}${elapsed(explanation, "for")}, waiting for ${waitsText(explanation)}`;
  }
}

function elapsed({ since, at }: Unworded, form: "ago" | "for"): string {
  if (since === null) return "";
  const text = durationText(Math.max(0, at - since));
  return form === "for" ? ` for ${text}` : ` ${text} ago`;
}

function reason(runId: string, error: Error | null): string {
  const text = error === null ? "" : withoutRun(runId, error.message);
  // The default reasons of `cancel` and `pause` repeat the status.
  return text === "" || text === "was cancelled" || text === "was paused" ? "" : `: ${text}`;
}

/** Error messages of the engine start with the run, which the sentence already names. */
function withoutRun(runId: string, message: string): string {
  const run = `run ${runId} `;
  return message.startsWith(run) ? message.slice(run.length) : message;
}

function noWorkerText({ workers, workflow, version }: Unworded, versions: readonly number[]): string {
  if (workers.live === 0) return "no worker is alive";
  const text = `no live worker has ${workflow} v${version}`;
  return versions.length === 0 ? text : `${text} (workers have ${versions.map((other) => `v${other}`).join(", ")})`;
}

function suspectText(claims: number): string {
  if (claims < 2) return "";
  const lost = `; it lost its worker ${claims} times without progress, so`;
  return claims === 2
    ? `${lost} workers execute it in small groups of such runs, or alone`
    : `${lost} a worker claims it alone, when it executes no other run`;
}

function lastRecordText({ lastRecord, at }: Unworded): string {
  if (lastRecord === null) return "it has no record yet";
  const { kind, location } = lastRecord;
  return `its last record is ${kind} at ${location}, ${durationText(Math.max(0, at - lastRecord.at))} ago`;
}

/** Names of users cannot start with `~`. A program waits there for operator actions. */
function isInternal({ location }: WaitingFor): boolean {
  return location.startsWith("~");
}

function waitsText({ waits, waitsCount, at }: Unworded): string {
  const own = waits.filter((wait) => !isInternal(wait));
  const named = own.slice(0, NAMED_MAX).map((wait) => waitText(wait, at));
  const rest = waitsCount - (waits.length - own.length) - named.length;
  if (named.length === 0) return waits.length > 0 ? "an operator action" : "something";
  return rest === 0 ? named.join(" and ") : `${named.join(", ")} and ${rest} more`;
}

function waitText({ location, kind, until, messages, topics, children }: WaitingFor, at: number): string {
  const left = until === null ? null : durationText(Math.max(0, until - at));
  const things = [
    ...messages.map((name) => `message "${name}"`),
    ...topics.map((name) => `an event on topic "${name}"`),
    ...children.map(
      ({ runId, location: place, status }) => `child ${runId ?? place}${status === null ? "" : ` (${status})`}`,
    ),
  ];
  if (things.length > 0) {
    const where = [...messages, ...topics].includes(location) ? "" : ` at ${location}`;
    return `${things.join(" or ")}${where}${left === null ? "" : ` (timeout in ${left})`}`;
  }
  const what = kind === "retry" ? "the next attempt of" : "the end of";
  return `${what} ${location}${left === null ? "" : ` in ${left}`}`;
}

/** An open wait of a run. */
export interface WaitingFor {
  readonly location: string;
  /** The kind of the record that ends the wait. `retry` means the next attempt of the step at `location`. */
  readonly kind: string;
  readonly since: number | null;
  /** The deadline, epoch ms. Null if the wait has none. */
  readonly until: number | null;
  readonly messages: readonly string[];
  readonly topics: readonly string[];
  readonly children: readonly ChildWaitedFor[];
}

export interface ChildWaitedFor {
  readonly location: string;
  /** Null if the child is not among the newest 500 children of the run. */
  readonly runId: string | null;
  readonly status: Status | null;
}

/** The reason a run is in its state. */
export type Why =
  | { readonly kind: "ended"; readonly status: TerminalStatus; readonly error: Error | null }
  /** The run failed because it crashed its workers `claimsMax` times without progress. */
  | { readonly kind: "poisoned"; readonly error: Error }
  /** The code does not match the journal. Deploy compatible code and resume the run. */
  | { readonly kind: "diverged"; readonly error: Error }
  /** The code threw a programming error. Deploy fixed code and resume the run. */
  | { readonly kind: "codeError"; readonly error: Error }
  /** The run was paused because a payload cannot be read, or the reason of its pause cannot be read. Start a worker with the codec that wrote it. */
  | { readonly kind: "unreadable"; readonly error: Error }
  | { readonly kind: "paused"; readonly error: Error | null }
  /** The run was started with a delay. */
  | { readonly kind: "delayed"; readonly until: number }
  /** The run is due, but no live worker has its workflow in its version. `versions` are the versions that live workers have. */
  | { readonly kind: "noWorker"; readonly dueAt: number; readonly versions: readonly number[] }
  /** The run is due and waits for a free slot. After two claims without progress, workers execute it in small groups of such runs; after more, alone. */
  | { readonly kind: "waitsForRoom"; readonly dueAt: number; readonly claims: number }
  /** The lease of the run's worker has expired. Another worker takes the run over. */
  | { readonly kind: "ownerGone"; readonly owner: string; readonly silentSince: number | null }
  | { readonly kind: "working" }
  /** A message, event, child end or deadline has arrived. The run's worker is about to resume it. */
  | { readonly kind: "ready"; readonly dueAt: number }
  /** A step failed and waits for its next attempt. */
  | {
      readonly kind: "backingOff";
      readonly location: string;
      readonly attempts: number | null;
      readonly error: Error | null;
      readonly until: number | null;
    }
  | { readonly kind: "waiting" };

/** The state of a run at `at`, and the reason for it. */
export interface Explanation {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: Status;
  readonly why: Why;
  /** `why` as a sentence for operators. */
  readonly sentence: string;
  /** When the run ended, was suspended or became due, depending on `why`. Null for a working or paused run. */
  readonly since: number | null;
  /** At most 20 of the open waits. */
  readonly waits: readonly WaitingFor[];
  /** The number of all open waits. */
  readonly waitsCount: number;
  readonly owner: { readonly id: string; readonly isAlive: boolean; readonly expiresAt: number | null } | null;
  /** The number of live workers, and of those that have the run's workflow in its version. */
  readonly workers: { readonly live: number; readonly knowing: number };
  /** When the run is due next if nothing arrives earlier, epoch ms. Null if it only waits for something to arrive. */
  readonly nextDueAt: number | null;
  /** When the run fails unless it has ended, epoch ms. Null if it has no deadline, or has ended. */
  readonly deadlineAt: number | null;
  /** When the run fails unless it has started, epoch ms. Null if it has no `ttl`, or has started. */
  readonly expireAt: number | null;
  readonly lastRecord: Pick<JournalRecord, "seq" | "location" | "kind" | "outcome" | "at"> | null;
  readonly at: number;
}
