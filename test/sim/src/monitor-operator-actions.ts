import type { InboxEntry, JournalRecord, NewRecord, Transition } from "pawl";
import { type ExpectedRun, entryKey } from "./expected-run.ts";
import { undoneStep } from "./monitor-compensation.ts";
import type { ExpectedState } from "./simulation-context.ts";

type Control = Extract<Transition, { kind: "control" }>;
type Change = NonNullable<Control["journal"]>;

/** I1 with its exception: an operator action records how many records it drops, and keeps earlier operator records. */
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
    // Ends of children that a reopened run has missed are restored without an action.
    if (dropped.length > 0)
      monitor.violate("I1", `run ${expectedRun.id}: ${dropped.length} records were dropped without an operator record`);
    return;
  }
  if (expectedRun.actions.has(note.id))
    monitor.violate("action", `run ${expectedRun.id}: ${note.id} was executed twice`);
  expectedRun.actions.set(note.id, JSON.stringify(note.result));
  for (const { kind, location } of dropped) {
    const step = kind === "rollback" ? undoneStep(location) : null;
    if (step !== null && expectedRun.journal.some((record) => record.location === step))
      monitor.violate("I11", `run ${expectedRun.id}: ${step} was rolled back but counts as done`);
  }
  const count = dropped.filter(({ kind }) => kind !== "operator").length;
  if (add.at(-1)?.detail === "migrate") checkMigrated(monitor, expectedRun, dropped, add.slice(0, -1));
  else if (cutAfter !== null && note.result.records !== count)
    monitor.violate(
      "I1",
      `run ${expectedRun.id}: ${count} records were dropped; the operator record states ${note.result.records}`,
    );
  const actionsOf = (records: ReadonlyArray<NewRecord | JournalRecord>): string =>
    records.flatMap(({ kind, payload }) => (kind === "operator" ? [payload] : [])).join();
  if (actionsOf(dropped) !== actionsOf(add.slice(0, -1)))
    monitor.violate("I1", `run ${expectedRun.id}: operator records before ${note.id} were dropped or added`);
  rebuildCompletions(expectedRun);
  knowPosted(expectedRun);
  expectedRun.reopened += 1;
}

/** Entries that arrived in the commit that ended the run were never in its inbox. */
export function knowPosted(expectedRun: ExpectedRun): void {
  for (const id of expectedRun.posted) {
    const key = entryKey({ kind: "message", id });
    if (!expectedRun.known.has(key)) expectedRun.known.set(key, 0);
  }
}

/**
 * Records that are rewritten, in the same run or in a fork, get other seqs. Records that loops have dropped keep their position between
 * them, because the model needs all records.
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

/** A migration to code that requests the same operations keeps all records. */
function checkMigrated(
  monitor: ExpectedState,
  { id }: ExpectedRun,
  dropped: readonly JournalRecord[],
  added: readonly NewRecord[],
): void {
  const text = (records: readonly NewRecord[]): string =>
    records.map(({ kind, location, outcome, payload }) => [kind, location, outcome, payload].join(" ")).join("; ");
  if (text(dropped) !== text(added)) monitor.violate("I1", `run ${id} lost records in a migration`);
}

function append(monitor: ExpectedState, expectedRun: ExpectedRun, record: NewRecord): void {
  const last = expectedRun.journal.at(-1);
  if (last !== undefined && record.at < last.at)
    monitor.violate("time", `run ${expectedRun.id}: ${record.kind} ${record.detail} is older than the previous record`);
  const withSeq = { ...record, seq: (last?.seq ?? expectedRun.row.baseSeq) + 1 };
  expectedRun.journal.push(withSeq);
  expectedRun.history.push(withSeq);
}

/** Rebuilds the completions from the journal. */
export function rebuildCompletions(expectedRun: ExpectedRun): void {
  const done = new Set(
    expectedRun.journal.flatMap(({ kind, location }) => (kind === "retry" || kind === "started" ? [] : [location])),
  );
  for (const location of expectedRun.doneBy.keys()) if (!done.has(location)) expectedRun.doneBy.delete(location);
  for (const location of done)
    if (!expectedRun.doneBy.has(location)) expectedRun.doneBy.set(location, { engineId: "", epoch: 0 });
  expectedRun.retries.clear();
  for (const { kind, location, attempts, detail } of expectedRun.journal) {
    if (kind === "retry") expectedRun.retries.set(location, { attempts, retryAt: Number(detail) });
  }
}

/** Entries that an action returned to the inbox come before the pending ones, which stay. New entries may arrive in the same commit. */
export function checkRestored(
  monitor: ExpectedState,
  expectedRun: ExpectedRun,
  restore: Change["restore"],
  now: readonly InboxEntry[],
): void {
  const keys = now.map(entryKey);
  // The action withdraws requests to pause.
  const isPause = ({ kind, id }: InboxEntry): boolean => kind === "cancel" && id.startsWith("pause:");
  const waiting = [...expectedRun.inbox.values()].filter((entry) => !isPause(entry)).map(entryKey);
  const back = restore.map(entryKey).filter((key) => !waiting.includes(key));
  const expected = [...back, ...waiting];
  if (restore.length > 0 && keys.slice(0, expected.length).join() !== expected.join())
    monitor.violate(
      "I4",
      `run ${expectedRun.id}: after an operator action the inbox is [${keys.join()}]; expected [${expected.join()}]`,
    );
  for (const entry of now) expectedRun.known.set(entryKey(entry), entry.n);
  for (const entry of restore) expectedRun.restored.add(entry.id);
  expectedRun.inbox = new Map(now.map((entry) => [entry.n, entry]));
}
