import { isTerminal, STATUSES, type Status } from "../../model/run.ts";
import type { PruneRequest } from "../../rules/tables.ts";
import type { Reader } from "../store.ts";
import { partitionOf } from "./partitions.ts";
import { fromWire, toWire } from "./wire-text.ts";

/** An ended run, as a script returns it. Texts are in wire form. */
type EndedRun = readonly [id: string, parent: string | null, createdAt: number];

/** What pruning needs of the store of a partition. */
export interface PrunedPartition {
  readonly reader: Pick<Reader, "get">;
  readForPartition(operation: "ended" | "parents" | "ancestor", args: readonly string[]): Promise<unknown>;
  removeEnded(endedBefore: number, ids: readonly string[]): Promise<number>;
}

type Ancestor = readonly [parent: string | null, createdAt: number, startedAt: number | null, status: Status];

/**
 * Removes ended runs whose parents and children may be in other partitions. A run that has a child, or an open ancestor, stays. A
 * reply of another partition may be stale when it is used: an ancestor may have been reopened since. Its descendant is removed anyway.
 */
export async function pruneAcrossPartitions(
  partitions: readonly PrunedPartition[],
  request: PruneRequest,
): Promise<number> {
  const { runsEndedBefore, statuses, limit } = request;
  if (runsEndedBefore === null) return 0;
  const terminal = (statuses ?? STATUSES).filter(isTerminal);
  let removed = 0;
  // Removing the last child of a run makes the run removable in the next iteration.
  for (;;) {
    const before = removed;
    for (const partition of partitions) {
      for (const status of terminal) {
        const left = limit - removed;
        if (left > 0) removed += await new PartitionPrune(partitions, partition, runsEndedBefore).remove(status, left);
      }
    }
    if (removed === before || removed >= limit) return removed;
  }
}

/** Removes one run, as `pruneAcrossPartitions` would. Returns the number of removed runs. */
export async function pruneOneRun(
  partitions: readonly PrunedPartition[],
  { runId = "", runsEndedBefore, statuses }: PruneRequest,
): Promise<number> {
  const partition = partitions[partitionOf(runId, partitions.length)];
  const run = (await partition?.reader.get(runId)) ?? null;
  if (partition === undefined || run === null || runsEndedBefore === null || !isTerminal(run.status)) return 0;
  if (statuses?.includes(run.status) === false) return 0;
  const ended = [toWire(runId), run.parent === null ? null : toWire(run.parent.runId), run.createdAt] as const;
  return await new PartitionPrune(partitions, partition, runsEndedBefore).removeOne(ended);
}

class PartitionPrune {
  readonly #partitions: readonly PrunedPartition[];
  readonly #partition: PrunedPartition;
  readonly #endedBefore: number;
  readonly #ancestors = new Map<string, Promise<Ancestor | null>>();

  constructor(partitions: readonly PrunedPartition[], partition: PrunedPartition, endedBefore: number) {
    this.#partitions = partitions;
    this.#partition = partition;
    this.#endedBefore = endedBefore;
  }

  async remove(status: Status, limit: number): Promise<number> {
    let removed = 0;
    for (let rank: number | null = 0; rank !== null && removed < limit; ) {
      const args = [status, String(this.#endedBefore), String(rank)];
      const reply = await this.#partition.readForPartition("ended", args);
      const [ended, next] = reply as [readonly EndedRun[], number | null];
      const removable = (await this.#removable(ended)).slice(0, limit - removed);
      const count = removable.length === 0 ? 0 : await this.#partition.removeEnded(this.#endedBefore, removable);
      removed += count;
      // The removed runs lower the ranks of the runs behind them.
      rank = next === null ? null : next - count;
    }
    return removed;
  }

  async removeOne(run: EndedRun): Promise<number> {
    const removable = await this.#removable([run]);
    return removable.length === 0 ? 0 : await this.#partition.removeEnded(this.#endedBefore, removable);
  }

  /** The ids of those runs that have no child and no open ancestor. */
  async #removable(ended: readonly EndedRun[]): Promise<readonly string[]> {
    if (ended.length === 0) return [];
    const ids = ended.map(([id]) => id);
    const args = [String(ids.length), ...ids];
    const reads = this.#partitions.map((partition) => partition.readForPartition("parents", args));
    const parents = new Set(((await Promise.all(reads)) as readonly (readonly string[])[]).flat());
    const removable: string[] = [];
    for (const run of ended) if (!parents.has(run[0]) && !(await this.#hasOpenAncestor(run))) removable.push(run[0]);
    return removable;
  }

  /** An ancestor that was continued since it started the descendant does not count: its journal does not refer to it any more. */
  async #hasOpenAncestor([, parent, createdAt]: EndedRun): Promise<boolean> {
    let childCreatedAt = createdAt;
    for (let id = parent; id !== null; ) {
      const ancestor = await this.#ancestor(id);
      if (ancestor === null) return false;
      const [nextId, ancestorCreatedAt, startedAt, status] = ancestor;
      if (childCreatedAt < (startedAt ?? 0)) return false;
      if (!isTerminal(status)) return true;
      id = nextId;
      childCreatedAt = ancestorCreatedAt;
    }
    return false;
  }

  #ancestor(id: string): Promise<Ancestor | null> {
    const known = this.#ancestors.get(id);
    if (known !== undefined) return known;
    const partition = this.#partitions[partitionOf(fromWire(id), this.#partitions.length)];
    const read = partition?.readForPartition("ancestor", [id]) as Promise<Ancestor | null>;
    this.#ancestors.set(id, read);
    return read;
  }
}
