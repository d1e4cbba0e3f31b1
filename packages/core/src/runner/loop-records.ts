import type { JournalRecord, SeqRange } from "../model/record.ts";

/** The seq ranges of the records of each iteration. */
type Iterations = Map<number, Array<{ from: number; to: number }>>;

/**
 * Knows which records belong to which iteration of the running loops, so that old iterations can be deleted. The newest checkpoint is
 * kept: without it a replay would roll back the steps before it.
 */
export class LoopRecords {
  /** By location prefix. Created with the first loop. */
  #loops: Map<string, Iterations> | null = null;
  /** The seq of the newest checkpoint. 0 if there is none. */
  #checkpoint = 0;

  /** Starts a loop. All its records come after this call. */
  open(loop: string): void {
    this.#loops ??= new Map();
    this.#loops.set(iterationPrefix(loop), new Map());
  }

  close(loop: string): void {
    this.#loops?.delete(iterationPrefix(loop));
  }

  closeUnder(path: string): void {
    for (const prefix of this.#loops?.keys() ?? []) if (prefix.startsWith(`${path}/`)) this.#loops?.delete(prefix);
  }

  /** Notes a record, new or replayed. */
  note({ location, seq, kind }: Pick<JournalRecord, "location" | "seq" | "kind">): void {
    if (kind === "checkpoint") this.#checkpoint = seq;
    if (this.#loops === null) return;
    for (const [prefix, iterations] of this.#loops) {
      if (!location.startsWith(prefix)) continue;
      const iteration = Number.parseInt(location.slice(prefix.length), 10);
      const list = iterations.get(iteration);
      const last = list?.at(-1);
      if (list === undefined) iterations.set(iteration, [{ from: seq, to: seq }]);
      else if (last !== undefined && last.to + 1 === seq) last.to = seq;
      else list.push({ from: seq, to: seq });
    }
  }

  /** Removes the iterations below `below`. Returns the ranges of their records. */
  drop(loop: string, below: number): readonly SeqRange[] {
    const iterations = this.#loops?.get(iterationPrefix(loop));
    if (iterations === undefined) return [];
    const dropped: Array<{ from: number; to: number }> = [];
    for (const [iteration, ranges] of iterations) {
      // Iterations start in order, so the later ones are not below either.
      if (iteration >= below) break;
      const withCheckpoint = ranges.find((range) => this.#holdsCheckpoint(range));
      if (withCheckpoint === undefined) iterations.delete(iteration);
      else iterations.set(iteration, [{ from: this.#checkpoint, to: this.#checkpoint }]);
      dropped.push(
        ...ranges.flatMap((range) => (range === withCheckpoint ? around(range, this.#checkpoint) : [range])),
      );
    }
    return joinedRanges(dropped);
  }

  #holdsCheckpoint({ from, to }: SeqRange): boolean {
    return from <= this.#checkpoint && this.#checkpoint <= to;
  }
}

/** Returns the range without one seq. */
function around({ from, to }: SeqRange, seq: number): ReadonlyArray<{ from: number; to: number }> {
  return [
    { from, to: seq - 1 },
    { from: seq + 1, to },
  ].filter((range) => range.from <= range.to);
}

/** Every location in a loop's iterations starts with this. */
function iterationPrefix(loop: string): string {
  return `${loop}/~`;
}

/** Joins neighbouring ranges. */
export function joinedRanges(ranges: readonly SeqRange[]): readonly SeqRange[] {
  const result: Array<{ from: number; to: number }> = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && last.to + 1 === range.from) last.to = range.to;
    else result.push({ ...range });
  }
  return result;
}
