import type { Answer, Transition, Wake } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import { prunedRuns } from "../../rules/prune.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
  SuspectLimit,
} from "../../rules/tables.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { mergedWakes, PartitionMessages } from "./partition-messages.ts";
import { pruneAcrossPartitions, pruneOneRun } from "./partitioned-prune.ts";
import { PartitionedReader } from "./partitioned-reader.ts";
import { partitionOf } from "./partitions.ts";
import type { Applied, RedisStore } from "./redis-store.ts";
import { type PartitionBatch, routeBatch } from "./route-batch.ts";

/** The interval at which undelivered messages between partitions are retried. */
const REDELIVER_MS = 250;

interface AppliedBatch {
  readonly partition: number;
  readonly batch: PartitionBatch;
  readonly applied: Applied;
}

/**
 * A store whose runs and topics are spread over partitions, which may be on different nodes of a cluster.
 *
 * 1. The script of a run's partition applies a transition as a whole. Posts to runs and topics of other partitions are written to the
 *    outbox by the same script. A batch is one commit per partition.
 */
export class PartitionedStore implements Store {
  readonly exactClock: boolean;
  readonly transactions = "batched";
  readonly reader: Reader;
  readonly #partitions: readonly RedisStore[];
  readonly #messages: PartitionMessages;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #stopRedelivery: (() => void) | null = null;
  /** The partition that the last claim started with. Partitions take turns, so that none is starved. */
  #claimFirst = 0;

  constructor(partitions: readonly RedisStore[]) {
    this.#partitions = partitions;
    this.#messages = new PartitionMessages(partitions);
    this.reader = new PartitionedReader(partitions);
    this.exactClock = partitions.every(({ exactClock }) => exactClock);
  }

  async open(world: StoreWorld): Promise<void> {
    // No attempt may still be running when the caller opens the store again, so all are awaited even if one fails.
    const opened = await Promise.allSettled(this.#partitions.map((partition) => partition.open(world)));
    for (const result of opened) if (result.status === "rejected") throw result.reason;
    for (const partition of this.#partitions) partition.watch((hint) => this.#notify(hint));
    this.#stopRedelivery = world.every(REDELIVER_MS, () => {
      if (this.#messages.hasUndelivered) void this.#sweep();
    });
  }

  /** The clock of the slowest node. A deadline that has passed on it has passed on all nodes. */
  now(): number {
    return Math.min(...this.#partitions.map((partition) => partition.now()));
  }

  /** The clock of the slowest node, as in `now`. */
  async readClock(): Promise<number> {
    return Math.min(...(await this.#everywhere((partition) => partition.readClock())));
  }

  async commit(batch: readonly Transition[]): Promise<Commit> {
    const batches = await routeBatch(batch, this.#partitions.length, (letterId) => this.#findLetter(letterId));
    const done = await this.#applyAll([...batches]);
    const answers: Answer[] = [];
    for (const { batch: own, applied } of done) {
      for (const [at, index] of own.indexes.entries()) answers[index] = applied.answers[at] as Answer;
    }
    const outboxes = done.map(({ partition, applied }) => ({ from: partition, outbox: applied.outbox }));
    const delivered = await this.#messages.deliver(outboxes);
    return { answers, wakes: mergedWakes([...done.flatMap(({ applied }) => applied.wakes), ...delivered]) };
  }

  /** If one partition fails, the caller sends the whole batch again. Partitions that applied their part return the same answers. */
  async #applyAll(batches: readonly (readonly [number, PartitionBatch])[]): Promise<readonly AppliedBatch[]> {
    const settled = await Promise.allSettled(
      batches.map(async ([partition, batch]) => {
        const applied = await this.#at(partition).apply(batch.transitions);
        return { partition, batch, applied };
      }),
    );
    const errors = settled.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    if (errors.length === 0) return settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    // A partition that applied its part may have messages in its outbox, which this process does not deliver now.
    this.#messages.markUndelivered();
    const unexpected = errors.find((error) => !(error instanceof StoreError));
    if (unexpected !== undefined) throw unexpected;
    const [first, ...others] = errors as StoreError[];
    const hasFirstOutcome = errors.length === batches.length && others.every(({ outcome }) => outcome === "notApplied");
    if (first === undefined || hasFirstOutcome) throw first;
    throw new StoreError(first.code, "unknown", first.message, { cause: first });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    const count = this.#partitions.length;
    this.#claimFirst = (this.#claimFirst + 1) % count;
    const claimed: ClaimedRun[] = [];
    for (let step = 0; step < count && claimed.length < request.limit; step += 1) {
      const { suspects } = request;
      const bounds = suspects === undefined || claimed.length === 0 ? {} : { suspects: beside(suspects, claimed) };
      const limit = request.limit - claimed.length;
      const runs = await this.#at((this.#claimFirst + step) % count).claim({ ...request, ...bounds, limit });
      claimed.push(...runs);
      if (suspects !== undefined && runs.some((run) => isLone(run, suspects))) break;
    }
    return claimed;
  }

  async dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    return (await this.#everywhere((partition) => partition.dueRuns(worker, limit))).flat().slice(0, limit);
  }

  async ownedRunning(worker: string): Promise<readonly OwnedRun[]> {
    return (await this.#everywhere((partition) => partition.ownedRunning(worker))).flat();
  }

  async nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    return earliest(await this.#everywhere((partition) => partition.nextDueAt(worker, workflows)));
  }

  load(runId: string, afterSeq?: number, afterEntry?: number): Promise<Loaded | null> {
    return this.#of(runId).load(runId, afterSeq, afterEntry);
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed: readonly LapsedRun[] = [],
  ): Promise<Heartbeat> {
    const replies = await Promise.all(
      this.#partitions.map((partition, index) => {
        const own = lapsed.filter(({ id }) => partitionOf(id, this.#partitions.length) === index);
        return partition.heartbeat(worker, leaseMs, workflows, own);
      }),
    );
    // A process that crashed may have left messages in an outbox. Live workers deliver them.
    await this.#sweep();
    return {
      alive: replies.every(({ alive }) => alive),
      freed: replies.reduce((sum, { freed }) => sum + freed, 0),
      owned: replies.flatMap(({ owned }) => owned),
      nextDueAt: earliest(replies.map(({ nextDueAt }) => nextDueAt)),
      nextExpiryAt: earliest(replies.map(({ nextExpiryAt }) => nextExpiryAt)),
    };
  }

  async retire(worker: string): Promise<void> {
    await this.#everywhere((partition) => partition.retire(worker));
  }

  async prune(request: PruneRequest): Promise<Pruned> {
    if (request.runId !== undefined) return prunedRuns(await pruneOneRun(this.#partitions, request));
    const runs = await pruneAcrossPartitions(this.#partitions, request);
    const rest = await this.#everywhere((partition) => partition.prune({ ...request, runsEndedBefore: null }));
    await this.#sweep();
    const sum = (of: (pruned: Pruned) => number): number => rest.reduce((total, pruned) => total + of(pruned), 0);
    return {
      runs,
      entries: sum(({ entries }) => entries),
      expired: sum(({ expired }) => expired),
      letters: sum(({ letters }) => letters),
      done: runs < request.limit && rest.every(({ done }) => done),
    };
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#stopRedelivery?.();
    await this.#everywhere((partition) => partition.close());
  }

  /** If no partition has the letter, an earlier attempt of the same batch may have replayed it, with its post still in an outbox. */
  async #findLetter(letterId: string): Promise<number | null> {
    const found = await this.#everywhere((partition) => partition.reader.deadLetter(letterId));
    const partition = found.findIndex((letter) => letter !== null);
    if (partition < 0) await this.#sweep();
    return partition < 0 ? null : partition;
  }

  async #sweep(): Promise<void> {
    const wakes: readonly Wake[] = await this.#messages.sweep();
    if (wakes.length === 0) return;
    this.#notify({ runIds: wakes.map(({ runId }) => runId), owners: wakes.map(({ owner }) => owner), ended: [] });
  }

  #notify(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }

  #everywhere<Result>(call: (partition: RedisStore) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#partitions.map(call));
  }

  #of(runId: string): RedisStore {
    return this.#at(partitionOf(runId, this.#partitions.length));
  }

  #at(index: number): RedisStore {
    const partition = this.#partitions[index];
    if (partition === undefined) throw new Error(`partition ${index} not found`);
    return partition;
  }
}

/** A group is of one partition, because its script counts the group. A worker that has claimed a run is not idle. */
function beside(limit: SuspectLimit, claimed: readonly ClaimedRun[]): SuspectLimit {
  const hasGroup = claimed.some(({ isSuspect }) => isSuspect);
  return { ...limit, max: hasGroup ? 0 : limit.max, idle: false };
}

/** Whether the run was a lone suspect before this claim, which counts. */
function isLone({ isSuspect, claims }: ClaimedRun, limit: SuspectLimit): boolean {
  return isSuspect && claims > limit.claims + 1;
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
