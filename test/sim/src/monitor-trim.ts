import type { JournalRecord, Transition } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import { attachedStarts, type Known, undoables } from "./monitor-compensation.ts";
import { type CtxLoopNode, type NamedNode, nodeName } from "./program.ts";
import type { ExpectedState } from "./simulation-context.ts";

type Append = Extract<Transition, { kind: "append" }>;

/**
 * I1 with its exception: a loop drops exactly the iterations before the one that a replay starts with. It must drop them, so that its
 * journal is bounded.
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
    const firsts = firstIterations(expectedRun.journal, nodes);
    for (const record of expectedRun.journal) {
      if (isDropped(record) && !isBefore(firsts, record))
        monitor.violate("I1", `run ${expectedRun.id}: ${record.location} was dropped but must stay`);
    }
    expectedRun.journal = expectedRun.journal.filter((record) => !isDropped(record));
  }
  for (const record of records) {
    const node = record.kind === "loop" ? nodes.get(nodeName(record.location)) : undefined;
    if (node?.kind === "ctxLoop") checkBounded(monitor, expectedRun, record, { node, known });
  }
}

/** The loop of a `loop` record, and the iteration before which it was recorded. Null if it records the end of the loop. */
function loopRecord({ location }: JournalRecord): { readonly loop: string; readonly iteration: number | null } {
  const slash = location.lastIndexOf("/");
  if (location[slash + 1] !== "~") return { loop: location, iteration: null };
  return { loop: location.slice(0, slash), iteration: Number(location.slice(slash + 2)) };
}

/** The first iteration of each loop that must be kept: a replay starts with it, or `historyKeep` includes it. */
function firstIterations(
  journal: readonly JournalRecord[],
  nodes: ReadonlyMap<string, NamedNode>,
): ReadonlyMap<string, number> {
  const firsts = new Map<string, number>();
  for (const record of journal) {
    const node = record.kind === "loop" ? nodes.get(nodeName(record.location)) : undefined;
    if (node?.kind === "ctxLoop") firsts.set(loopRecord(record).loop, firstKept(record, node));
  }
  return firsts;
}

function firstKept(record: JournalRecord, { times, historyKeep }: CtxLoopNode): number {
  const begin = record.detail === null ? Number.POSITIVE_INFINITY : Number(record.detail);
  return Math.min(begin, (loopRecord(record).iteration ?? times) - historyKeep);
}

/** True if the record is of an iteration that may be dropped. */
function isBefore(firsts: ReadonlyMap<string, number>, { location }: JournalRecord): boolean {
  const segments = location.split("/");
  return segments.some((segment, index) => {
    const begin = segment.startsWith("~") ? firsts.get(segments.slice(0, index).join("/")) : undefined;
    return begin !== undefined && Number(segment.slice(1)) < begin;
  });
}

/** After a trim no older iterations than the kept ones exist. */
function checkBounded(
  monitor: ExpectedState,
  expectedRun: ExpectedRun,
  record: JournalRecord,
  { node, known }: { readonly node: CtxLoopNode; readonly known: Known },
): void {
  const { commitInterval, historyEvery } = node;
  const { loop, iteration } = loopRecord(record);
  const needed = [...undoables(known, expectedRun, record.seq), ...attachedStarts(known, expectedRun, record.seq)];
  const isKept = needed.some(({ location }) => location.startsWith(`${loop}/~`));
  if (!isKept && record.detail !== (iteration === null ? null : String(iteration)))
    monitor.violate(
      "bounded",
      `run ${expectedRun.id}: ${record.location} keeps iterations from ${record.detail} on without a reason`,
    );
  const isTime =
    iteration === null ||
    Math.floor(iteration / historyEvery) > Math.floor((iteration - commitInterval) / historyEvery);
  if (!isTime) return;
  const least = firstKept(record, node);
  const checkpoint = expectedRun.journal.findLast(({ kind, seq }) => kind === "checkpoint" && seq <= record.seq);
  // Records that an abandoned branch adds to its iteration later stay until the next trim.
  for (const { location, seq } of expectedRun.journal) {
    if (seq > record.seq || seq === checkpoint?.seq || !location.startsWith(`${loop}/~`)) continue;
    if (Number.parseInt(location.slice(loop.length + 2), 10) >= least) continue;
    monitor.violate(
      "bounded",
      `run ${expectedRun.id}: ${location} is kept although iteration ${least} is the first to keep`,
    );
    return;
  }
}
