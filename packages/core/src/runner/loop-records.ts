import type { JournalRecord, SeqRange } from "../model/record.ts";

/** What the locations of a loop's rounds begin with. */
function roundPrefix(loop: string): string {
  return `${loop}/~`;
}

/** The records of each round that is still there, as ranges of seqs. */
type Rounds = Map<number, Array<{ from: number; to: number }>>;

/**
 * Which records lie in which round of the loops that are under way, so that a loop can say what it drops. The newest
 * checkpoint stays: without it a replay would take what lies before it as something to undo.
 */
export class LoopRecords {
  /** By the prefix of their rounds; made with the first. */
  #loops: Map<string, Rounds> | null = null;
  /** The seq of the newest checkpoint; zero if there is none. */
  #checkpoint = 0;

  /** The loop has begun: every record of it comes after this. */
  open(loop: string): void {
    this.#loops ??= new Map();
    this.#loops.set(roundPrefix(loop), new Map());
  }

  close(loop: string): void {
    this.#loops?.delete(roundPrefix(loop));
  }

  closeUnder(path: string): void {
    for (const prefix of this.#loops?.keys() ?? []) if (prefix.startsWith(`${path}/`)) this.#loops?.delete(prefix);
  }

  /** A record, written or replayed. */
  note({ location, seq, kind }: Pick<JournalRecord, "location" | "seq" | "kind">): void {
    if (kind === "checkpoint") this.#checkpoint = seq;
    if (this.#loops === null) return;
    for (const [prefix, rounds] of this.#loops) {
      if (!location.startsWith(prefix)) continue;
      const round = Number.parseInt(location.slice(prefix.length), 10);
      const list = rounds.get(round);
      const last = list?.at(-1);
      if (list === undefined) rounds.set(round, [{ from: seq, to: seq }]);
      else if (last !== undefined && last.to + 1 === seq) last.to = seq;
      else list.push({ from: seq, to: seq });
    }
  }

  /** Gives up the rounds below this one; neighbouring ranges become one. */
  drop(loop: string, below: number): readonly SeqRange[] {
    const rounds = this.#loops?.get(roundPrefix(loop));
    if (rounds === undefined) return [];
    const dropped: Array<{ from: number; to: number }> = [];
    for (const [round, ranges] of rounds) {
      if (round >= below) continue;
      const kept = ranges.find((range) => this.#holdsCheckpoint(range));
      if (kept === undefined) rounds.delete(round);
      else rounds.set(round, [{ from: this.#checkpoint, to: this.#checkpoint }]);
      dropped.push(...ranges.flatMap((range) => (range === kept ? around(range, this.#checkpoint) : [range])));
    }
    return joined(dropped);
  }

  #holdsCheckpoint({ from, to }: SeqRange): boolean {
    return from <= this.#checkpoint && this.#checkpoint <= to;
  }
}

/** A range without one of its seqs. */
function around({ from, to }: SeqRange, seq: number): ReadonlyArray<{ from: number; to: number }> {
  return [
    { from, to: seq - 1 },
    { from: seq + 1, to },
  ].filter((range) => range.from <= range.to);
}

function joined(ranges: ReadonlyArray<{ from: number; to: number }>): readonly SeqRange[] {
  const result: Array<{ from: number; to: number }> = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && last.to + 1 === range.from) last.to = range.to;
    else result.push({ ...range });
  }
  return result;
}
