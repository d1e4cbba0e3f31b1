import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import { runOf } from "../run-of.ts";
import type { RunHead } from "../tables.ts";

/** One run in memory, with all that belongs to it. */
export interface Cell {
  readonly facts: Pick<NewRun, "tags" | "parent">;
  head: RunHead;
  input: Payload;
  wait: Wait | null;
  outcome: Payload;
  /** Consecutive by seq. */
  journal: JournalRecord[];
  readonly inbox: Map<number, InboxEntry>;
  /** Every entry the run has had, by kind and id. */
  readonly known: Map<string, { readonly n: number; readonly at: number }>;
  readonly topics: Set<string>;
  readonly topicSeen: Map<string, number>;
  /** Grows with each change of the head, so that what was noted about an earlier one is known to be stale. */
  dueStamp: number;
}

export type Cells = Map<string, Cell>;

export function newCell(run: Pick<NewRun, "tags" | "parent" | "input">, head: RunHead): Cell {
  return {
    facts: { tags: run.tags, parent: run.parent },
    head,
    input: run.input,
    wait: null,
    outcome: null,
    journal: [],
    inbox: new Map(),
    known: new Map(),
    topics: new Set(),
    topicSeen: new Map(),
    dueStamp: 0,
  };
}

export function cellOf(cells: Cells, head: Pick<RunHead, "id">): Cell {
  const cell = cells.get(head.id);
  if (cell === undefined) throw new Error(`run ${head.id} is not there`);
  return cell;
}

export function runOfCell({ head, facts, input, wait, outcome }: Cell): Run {
  return runOf(head, { input, tags: facts.tags, parent: facts.parent, wait, outcome });
}

/** The records after this seq, at most `limit`. */
export function recordsAfter({ journal }: Cell, seq: number, limit = journal.length): readonly JournalRecord[] {
  const start = firstAfter(journal, seq);
  return journal.slice(start, start + limit);
}

/** The seq after which the last `count` records lie. */
export function afterSeqOfLast({ journal }: Cell, count: number): number {
  return journal[journal.length - count - 1]?.seq ?? 0;
}

/** Seqs have gaps where a loop has dropped its rounds, so the place is searched for. */
function firstAfter(journal: readonly JournalRecord[], seq: number): number {
  let low = 0;
  let high = journal.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((journal[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
