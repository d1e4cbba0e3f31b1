import { isTerminal, STATUSES, type Status } from "../../model/run.ts";
import type { PruneRequest } from "../../rules/tables.ts";
import { placeOf } from "./partitions.ts";
import type { RedisStore } from "./redis-store.ts";
import { fromWire } from "./wire-text.ts";

/** An ended run, as scripts tell of it: texts as they go over the wire. */
type Ended = readonly [id: string, parent: string | null, createdAt: number];
type Above = readonly [parent: string | null, createdAt: number, startedAt: number | null, status: Status];

/**
 * Removes ended runs whose kin may be in other partitions: one that has a child somewhere stays, and so does one below an open
 * run. What other partitions say may be old when it is used; a run that is reopened meanwhile was about to go anyway.
 */
export async function pruneAcrossPartitions(partitions: readonly RedisStore[], request: PruneRequest): Promise<number> {
  const { runsEndedBefore, statuses, limit } = request;
  if (runsEndedBefore === null) return 0;
  const terminal = (statuses ?? STATUSES).filter(isTerminal);
  let removed = 0;
  // A run whose last child has gone may go in the next round.
  for (;;) {
    let some = 0;
    for (const partition of partitions) {
      for (const status of terminal) {
        const left = limit - removed - some;
        if (left > 0) some += await new Pruning(partitions, partition, runsEndedBefore).remove(status, left);
      }
    }
    removed += some;
    if (some === 0 || removed >= limit) return removed;
  }
}

class Pruning {
  readonly #partitions: readonly RedisStore[];
  readonly #partition: RedisStore;
  readonly #endedBefore: number;
  readonly #above = new Map<string, Promise<Above | null>>();

  constructor(partitions: readonly RedisStore[], partition: RedisStore, endedBefore: number) {
    this.#partitions = partitions;
    this.#partition = partition;
    this.#endedBefore = endedBefore;
  }

  async remove(status: Status, limit: number): Promise<number> {
    let removed = 0;
    for (let rank: number | null = 0; rank !== null && removed < limit; ) {
      const reply = await this.#partition.ask("ended", [status, String(this.#endedBefore), String(rank)]);
      const [ended, next] = reply as [readonly Ended[], number | null];
      const free = (await this.#free(ended)).slice(0, limit - removed);
      const some = free.length === 0 ? 0 : await this.#partition.removeEnded(this.#endedBefore, free);
      removed += some;
      // Those that are gone have moved the others up.
      rank = next === null ? null : next - some;
    }
    return removed;
  }

  async #free(ended: readonly Ended[]): Promise<readonly string[]> {
    if (ended.length === 0) return [];
    const ids = ended.map(([id]) => id);
    const args = [String(ids.length), ...ids];
    const answers = await Promise.all(this.#partitions.map((partition) => partition.ask("parents", args)));
    const parents = new Set((answers as readonly (readonly string[])[]).flat());
    const free: string[] = [];
    for (const run of ended) if (!parents.has(run[0]) && !(await this.#isBelowOpen(run))) free.push(run[0]);
    return free;
  }

  /** Whether a run above is open, and has not been continued since the run below it was made. */
  async #isBelowOpen([, parent, createdAt]: Ended): Promise<boolean> {
    let made = createdAt;
    for (let id = parent; id !== null; ) {
      const above = await this.#aboveOf(id);
      if (above === null) return false;
      const [next, madeAt, startedAt, status] = above;
      if (made < (startedAt ?? 0)) return false;
      if (!isTerminal(status)) return true;
      id = next;
      made = madeAt;
    }
    return false;
  }

  #aboveOf(id: string): Promise<Above | null> {
    const known = this.#above.get(id);
    if (known !== undefined) return known;
    const partition = this.#partitions[placeOf(fromWire(id), this.#partitions.length)];
    const asked = partition?.ask("above", [id]) as Promise<Above | null>;
    this.#above.set(id, asked);
    return asked;
  }
}
