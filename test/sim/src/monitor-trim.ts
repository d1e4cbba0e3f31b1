import type { JournalRecord, Transition } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import { type Known, undoables } from "./monitor-compensation.ts";
import { type CtxLoopNode, type NamedNode, nodeName } from "./program.ts";
import type { ExpectedState } from "./simulation-context.ts";

type Append = Extract<Transition, { kind: "append" }>;

/**
 * I1 with its exception: a loop drops rounds that lie before the one a replay begins with, and nothing else; and it does drop
 * them, so that its journal is bounded.
 */
export function checkTrim(
  monitor: ExpectedState,
  expectedRun: ExpectedRun,
  { records, trim }: Append,
  known: Known,
): void {
  const nodes = known.nodesOf(expectedRun);
  if (trim.length > 0) {
    const isDropped = ({ seq }: JournalRecord): boolean => trim.some(({ from, to }) => from <= seq && seq <= to);
    const begins = loopBegins(expectedRun.journal, nodes);
    for (const record of expectedRun.journal) {
      if (isDropped(record) && !isBefore(begins, record))
        monitor.violate("I1", `run ${expectedRun.id}: ${record.location} was dropped, and it has to stay`);
    }
    expectedRun.journal = expectedRun.journal.filter((record) => !isDropped(record));
  }
  for (const record of records) {
    const node = record.kind === "loop" ? nodes.get(nodeName(record.location)) : undefined;
    if (node?.kind === "ctxLoop") checkBounded(monitor, expectedRun, record, { node, known });
  }
}

/** The loop that a `loop` record is about, and the round before which it was noted; null: its end. */
function noted({ location }: JournalRecord): { readonly loop: string; readonly round: number | null } {
  const slash = location.lastIndexOf("/");
  if (location[slash + 1] !== "~") return { loop: location, round: null };
  return { loop: location.slice(0, slash), round: Number(location.slice(slash + 2)) };
}

/** The first round of each loop that has to be there: a replay begins with it, or people may want to read it. */
function loopBegins(
  journal: readonly JournalRecord[],
  nodes: ReadonlyMap<string, NamedNode>,
): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  for (const record of journal) {
    const node = record.kind === "loop" ? nodes.get(nodeName(record.location)) : undefined;
    if (node?.kind === "ctxLoop") begins.set(noted(record).loop, firstKept(record, node));
  }
  return begins;
}

function firstKept(record: JournalRecord, { times, historyKeep }: CtxLoopNode): number {
  const begin = record.detail === null ? Number.POSITIVE_INFINITY : Number(record.detail);
  return Math.min(begin, (noted(record).round ?? times) - historyKeep);
}

/** Whether a record lies in a round that may go. */
function isBefore(begins: ReadonlyMap<string, number>, { location }: JournalRecord): boolean {
  const segments = location.split("/");
  return segments.some((segment, index) => {
    const begin = segment.startsWith("~") ? begins.get(segments.slice(0, index).join("/")) : undefined;
    return begin !== undefined && Number(segment.slice(1)) < begin;
  });
}

/** When it is time to drop rounds, those further back than what is kept are gone. */
function checkBounded(
  monitor: ExpectedState,
  expectedRun: ExpectedRun,
  record: JournalRecord,
  { node, known }: { readonly node: CtxLoopNode; readonly known: Known },
): void {
  const { commitInterval, historyEvery } = node;
  const { loop, round } = noted(record);
  const isKept = undoables(known, expectedRun, record.seq).some(({ location }) => location.startsWith(`${loop}/~`));
  if (!isKept && record.detail !== (round === null ? null : String(round)))
    monitor.violate(
      "bounded",
      `run ${expectedRun.id}: ${record.location} keeps rounds from ${record.detail} on for nothing`,
    );
  const isTime =
    round === null || Math.floor(round / historyEvery) > Math.floor((round - commitInterval) / historyEvery);
  if (!isTime) return;
  const least = firstKept(record, node);
  const checkpoint = expectedRun.journal.findLast(({ kind, seq }) => kind === "checkpoint" && seq <= record.seq);
  // What a branch that nobody waits for any more adds to its round later stays until the next time.
  for (const { location, seq } of expectedRun.journal) {
    if (seq > record.seq || seq === checkpoint?.seq || !location.startsWith(`${loop}/~`)) continue;
    if (Number.parseInt(location.slice(loop.length + 2), 10) >= least) continue;
    monitor.violate(
      "bounded",
      `run ${expectedRun.id}: ${location} lies there when round ${least} is the first to keep`,
    );
    return;
  }
}
