import type { InboxEntry, JournalRecord, NewRecord, Transition } from "pawl";
import { undoneStep } from "./monitor-undo.ts";
import { entryKey, type Shadow } from "./shadow.ts";
import type { Findings } from "./stage.ts";

type Control = Extract<Transition, { kind: "control" }>;
type Change = NonNullable<Control["journal"]>;

/** I1 with its exception: what an operator's act drops is told in the record of the act, and acts before it stay. */
export function noteAct(monitor: Findings, shadow: Shadow, change: Change): void {
  const { cutAfter, add } = change;
  const isKept = ({ seq }: JournalRecord): boolean => cutAfter === null || seq <= cutAfter;
  const dropped = shadow.journal.filter((record) => !isKept(record));
  shadow.journal = shadow.journal.filter(isKept);
  const before = shadow.history;
  shadow.history = shadow.history.filter(isKept);
  for (const record of add) append(monitor, shadow, record);
  if (add.at(-1)?.detail === "migrate") shadow.history = rewritten(before, shadow.journal);
  const note = JSON.parse(add.at(-1)?.payload ?? "null") as { id: string; result: { records?: number } } | null;
  if (note === null) {
    monitor.violate("I1", `run ${shadow.id}: ${dropped.length} records were dropped, and no record tells of it`);
    return;
  }
  if (shadow.acts.has(note.id)) monitor.violate("act", `run ${shadow.id}: ${note.id} was done twice`);
  shadow.acts.set(note.id, JSON.stringify(note.result));
  for (const { kind, location } of dropped) {
    const step = kind === "rollback" ? undoneStep(location) : null;
    if (step !== null && shadow.journal.some((record) => record.location === step))
      monitor.violate("I11", `run ${shadow.id}: ${step} was undone, and is taken as done`);
  }
  const count = dropped.filter(({ kind }) => kind !== "operator").length;
  if (add.at(-1)?.detail === "migrate") checkMoved(monitor, shadow, dropped, add.slice(0, -1));
  else if (cutAfter !== null && note.result.records !== count)
    monitor.violate("I1", `run ${shadow.id}: ${count} records were dropped, ${note.result.records} were told`);
  const acts = (records: ReadonlyArray<NewRecord | JournalRecord>): string =>
    records.flatMap(({ kind, payload }) => (kind === "operator" ? [payload] : [])).join();
  if (acts(dropped) !== acts(add.slice(0, -1)))
    monitor.violate("I1", `run ${shadow.id}: acts before ${note.id} were dropped or added`);
  relearn(shadow);
  // What came in the commit that ended the run was never seen in its inbox.
  for (const id of shadow.posted) {
    const key = entryKey({ kind: "message", id });
    if (!shadow.known.has(key)) shadow.known.set(key, 0);
  }
  shadow.reopened += 1;
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
function checkMoved(
  monitor: Findings,
  { id }: Shadow,
  dropped: readonly JournalRecord[],
  added: readonly NewRecord[],
): void {
  const text = (records: readonly NewRecord[]): string =>
    records.map(({ kind, location, outcome, payload }) => [kind, location, outcome, payload].join(" ")).join("; ");
  if (text(dropped) !== text(added)) monitor.violate("I1", `run ${id} was moved and lost records`);
}

function append(monitor: Findings, shadow: Shadow, record: NewRecord): void {
  const last = shadow.journal.at(-1);
  if (last !== undefined && record.at < last.at)
    monitor.violate("time", `run ${shadow.id}: ${record.kind} ${record.detail} is older than the record before it`);
  const whole = { ...record, seq: (last?.seq ?? shadow.row.baseSeq) + 1 };
  shadow.journal.push(whole);
  shadow.history.push(whole);
}

/** What is in the journal was done, and nothing else. */
export function relearn(shadow: Shadow): void {
  const done = new Set(shadow.journal.flatMap(({ kind, location }) => (kind === "retry" ? [] : [location])));
  for (const location of shadow.doneBy.keys()) if (!done.has(location)) shadow.doneBy.delete(location);
  for (const location of done)
    if (!shadow.doneBy.has(location)) shadow.doneBy.set(location, { engineId: "", epoch: 0 });
  shadow.retries.clear();
  for (const { kind, location, attempts, detail } of shadow.journal) {
    if (kind === "retry") shadow.retries.set(location, { attempts, retryAt: Number(detail) });
  }
}

/** What an act laid back lies there, before what lay there; nothing of that is gone. Others may have come in the same commit. */
export function checkLaidBack(
  monitor: Findings,
  shadow: Shadow,
  restore: Change["restore"],
  now: readonly InboxEntry[],
): void {
  const keys = now.map(entryKey);
  const waiting = [...shadow.inbox.values()].map(entryKey);
  const back = restore.map(entryKey).filter((key) => !waiting.includes(key));
  const expected = [...back, ...waiting];
  if (restore.length > 0 && keys.slice(0, expected.length).join() !== expected.join())
    monitor.violate("I4", `run ${shadow.id}: an act made its inbox [${keys.join()}], it must be [${expected.join()}]`);
  for (const entry of now) shadow.known.set(entryKey(entry), entry.n);
  for (const entry of restore) shadow.restored.add(entry.id);
  shadow.inbox = new Map(now.map((entry) => [entry.n, entry]));
}
