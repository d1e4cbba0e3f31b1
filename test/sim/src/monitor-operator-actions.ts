import type { InboxEntry, JournalRecord, NewRecord, Transition } from "pawl";
import { type ExpectedRun, entryKey } from "./expected-run.ts";
import { undoneStep } from "./monitor-compensation.ts";
import type { ExpectedState } from "./simulation-context.ts";

type Control = Extract<Transition, { kind: "control" }>;
type Change = NonNullable<Control["journal"]>;

/** I1 with its exception: what an operator's act drops is told in the record of the act, and acts before it stay. */
export function checkOperatorAction(monitor: ExpectedState, expectedRun: ExpectedRun, change: Change): void {
  const { cutAfter, add } = change;
  const isKept = ({ seq }: JournalRecord): boolean => cutAfter === null || seq <= cutAfter;
  const dropped = expectedRun.journal.filter((record) => !isKept(record));
  expectedRun.journal = expectedRun.journal.filter(isKept);
  const before = expectedRun.history;
  expectedRun.history = expectedRun.history.filter(isKept);
  for (const record of add) append(monitor, expectedRun, record);
  if (add.at(-1)?.detail === "migrate") expectedRun.history = rewritten(before, expectedRun.journal);
  const note = JSON.parse(add.at(-1)?.payload ?? "null") as { id: string; result: { records?: number } } | null;
  if (note === null) {
    monitor.violate("I1", `run ${expectedRun.id}: ${dropped.length} records were dropped, and no record tells of it`);
    return;
  }
  if (expectedRun.acts.has(note.id)) monitor.violate("act", `run ${expectedRun.id}: ${note.id} was done twice`);
  expectedRun.acts.set(note.id, JSON.stringify(note.result));
  for (const { kind, location } of dropped) {
    const step = kind === "rollback" ? undoneStep(location) : null;
    if (step !== null && expectedRun.journal.some((record) => record.location === step))
      monitor.violate("I11", `run ${expectedRun.id}: ${step} was undone, and is taken as done`);
  }
  const count = dropped.filter(({ kind }) => kind !== "operator").length;
  if (add.at(-1)?.detail === "migrate") checkMigrated(monitor, expectedRun, dropped, add.slice(0, -1));
  else if (cutAfter !== null && note.result.records !== count)
    monitor.violate("I1", `run ${expectedRun.id}: ${count} records were dropped, ${note.result.records} were told`);
  const acts = (records: ReadonlyArray<NewRecord | JournalRecord>): string =>
    records.flatMap(({ kind, payload }) => (kind === "operator" ? [payload] : [])).join();
  if (acts(dropped) !== acts(add.slice(0, -1)))
    monitor.violate("I1", `run ${expectedRun.id}: acts before ${note.id} were dropped or added`);
  rebuildCompletions(expectedRun);
  // What came in the commit that ended the run was never seen in its inbox.
  for (const id of expectedRun.posted) {
    const key = entryKey({ kind: "message", id });
    if (!expectedRun.known.has(key)) expectedRun.known.set(key, 0);
  }
  expectedRun.reopened += 1;
}

/**
 * Records that are written again, in the same run or in a fork, have other seqs. What loops have dropped keeps its place between
 * them, so that the model has all that there ever was.
 */
export function rewritten(history: readonly JournalRecord[], journal: readonly JournalRecord[]): JournalRecord[] {
  const left = [...journal];
  const isOrigin = left[0]?.detail === "origin" && history[0]?.detail !== "origin";
  const again: JournalRecord[] = isOrigin ? left.splice(0, 1) : [];
  let dropped: JournalRecord[] = [];
  for (const record of history) {
    const [next] = left;
    if (next?.location !== record.location || next.kind !== record.kind || next.at !== record.at) {
      dropped.push(record);
      continue;
    }
    const seq = again.at(-1)?.seq ?? 0;
    again.push(...dropped.map((each, index) => ({ ...each, seq: seq + (index + 1) * 1e-6 })), next);
    dropped = [];
    left.shift();
  }
  return [...again, ...left];
}

/** A run that is moved to code which asks for the same keeps what it has. */
function checkMigrated(
  monitor: ExpectedState,
  { id }: ExpectedRun,
  dropped: readonly JournalRecord[],
  added: readonly NewRecord[],
): void {
  const text = (records: readonly NewRecord[]): string =>
    records.map(({ kind, location, outcome, payload }) => [kind, location, outcome, payload].join(" ")).join("; ");
  if (text(dropped) !== text(added)) monitor.violate("I1", `run ${id} was moved and lost records`);
}

function append(monitor: ExpectedState, expectedRun: ExpectedRun, record: NewRecord): void {
  const last = expectedRun.journal.at(-1);
  if (last !== undefined && record.at < last.at)
    monitor.violate(
      "time",
      `run ${expectedRun.id}: ${record.kind} ${record.detail} is older than the record before it`,
    );
  const whole = { ...record, seq: (last?.seq ?? expectedRun.row.baseSeq) + 1 };
  expectedRun.journal.push(whole);
  expectedRun.history.push(whole);
}

/** What is in the journal was done, and nothing else. */
export function rebuildCompletions(expectedRun: ExpectedRun): void {
  const done = new Set(expectedRun.journal.flatMap(({ kind, location }) => (kind === "retry" ? [] : [location])));
  for (const location of expectedRun.doneBy.keys()) if (!done.has(location)) expectedRun.doneBy.delete(location);
  for (const location of done)
    if (!expectedRun.doneBy.has(location)) expectedRun.doneBy.set(location, { engineId: "", epoch: 0 });
  expectedRun.retries.clear();
  for (const { kind, location, attempts, detail } of expectedRun.journal) {
    if (kind === "retry") expectedRun.retries.set(location, { attempts, retryAt: Number(detail) });
  }
}

/** What an act laid back lies there, before what lay there; nothing of that is gone. Others may have come in the same commit. */
export function checkRestored(
  monitor: ExpectedState,
  expectedRun: ExpectedRun,
  restore: Change["restore"],
  now: readonly InboxEntry[],
): void {
  const keys = now.map(entryKey);
  const waiting = [...expectedRun.inbox.values()].map(entryKey);
  const back = restore.map(entryKey).filter((key) => !waiting.includes(key));
  const expected = [...back, ...waiting];
  if (restore.length > 0 && keys.slice(0, expected.length).join() !== expected.join())
    monitor.violate(
      "I4",
      `run ${expectedRun.id}: an act made its inbox [${keys.join()}], it must be [${expected.join()}]`,
    );
  for (const entry of now) expectedRun.known.set(entryKey(entry), entry.n);
  for (const entry of restore) expectedRun.restored.add(entry.id);
  expectedRun.inbox = new Map(now.map((entry) => [entry.n, entry]));
}
