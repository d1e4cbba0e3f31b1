import type { InboxEntry } from "../../model/inbox.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import { runOf } from "../run-of.ts";
import type { RunHead } from "../tables.ts";
import { Journal } from "./journal.ts";

/** An entry that a run has had. */
type Known = Map<string, { readonly n: number; readonly at: number }>;

/** One run in memory, with all that belongs to it. Most runs have no inbox and no topics: those are made when they are asked for. */
export class Cell {
  readonly tags: NewRun["tags"];
  readonly parent: NewRun["parent"];
  head: RunHead;
  input: Payload;
  wait: Wait | null = null;
  outcome: Payload = null;
  readonly journal = new Journal();
  /** Grows with each change of the head, so that what was noted about an earlier one is known to be stale. */
  dueStamp = 0;
  #inbox: Map<number, InboxEntry> | null = null;
  #known: Known | null = null;
  #topics: Set<string> | null = null;
  #topicSeen: Map<string, number> | null = null;

  constructor({ tags, parent, input }: Pick<NewRun, "tags" | "parent" | "input">, head: RunHead) {
    this.tags = tags;
    this.parent = parent;
    this.head = head;
    this.input = input;
  }

  get inbox(): Map<number, InboxEntry> {
    this.#inbox ??= new Map();
    return this.#inbox;
  }

  /** Every entry the run has had, by kind and id. */
  get known(): Known {
    this.#known ??= new Map();
    return this.#known;
  }

  get topics(): Set<string> {
    this.#topics ??= new Set();
    return this.#topics;
  }

  get topicSeen(): Map<string, number> {
    this.#topicSeen ??= new Map();
    return this.#topicSeen;
  }
}

export type Cells = Map<string, Cell>;

export function cellOf(cells: Cells, head: Pick<RunHead, "id">): Cell {
  const cell = cells.get(head.id);
  if (cell === undefined) throw new Error(`run ${head.id} is not there`);
  return cell;
}

export function runOfCell({ head, input, tags, parent, wait, outcome }: Cell): Run {
  return runOf(head, { input, tags, parent, wait, outcome });
}
