import type { Run } from "../../model/run.ts";
import type { Answer, Transition, Wake } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import type { ClaimRequest, Heartbeat, OwnedRun, Pruned, PruneRequest } from "../../rules/tables.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { mergedWakes, PartitionMessages } from "./partition-messages.ts";
import { pruneAcrossPartitions } from "./partitioned-prune.ts";
import { PartitionedReader } from "./partitioned-reader.ts";
import { placeOf } from "./partitions.ts";
import type { Applied, RedisStore } from "./redis-store.ts";
import { routeBatch, type Share } from "./route-batch.ts";

/** How soon what was left in an outbox is carried again. */
const CARRY_AGAIN_MS = 250;

interface Done {
  readonly place: number;
  readonly share: Share;
  readonly applied: Applied;
}

/**
 * A store whose runs and topics are spread over partitions, each of which may be on another node of a cluster.
 *
 * 1. A transition is applied in its run's partition, as a whole, with what it says to runs and topics of that partition; the
 *    rest of its posts is in the outbox in the same script. A batch is as many commits as it has partitions.
 */
export class PartitionedStore implements Store {
  readonly exactClock: boolean;
  readonly transactions = "batched";
  readonly reader: Reader;
  readonly #partitions: readonly RedisStore[];
  readonly #courier: PartitionMessages;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #stopCarrying: (() => void) | null = null;
  /** Where the next claim begins, so that each partition is first in its turn. */
  #turn = 0;

  constructor(partitions: readonly RedisStore[]) {
    this.#partitions = partitions;
    this.#courier = new PartitionMessages(partitions);
    this.reader = new PartitionedReader(partitions);
    this.exactClock = partitions.every(({ exactClock }) => exactClock);
  }

  async open(world: StoreWorld): Promise<void> {
    // All of them have to be done with it before the store can be opened again.
    const opened = await Promise.allSettled(this.#partitions.map((partition) => partition.open(world)));
    for (const one of opened) if (one.status === "rejected") throw one.reason;
    for (const partition of this.#partitions) partition.watch((hint) => this.#tell(hint));
    this.#stopCarrying = world.every(CARRY_AGAIN_MS, () => {
      if (this.#courier.hasLeft) void this.#sweep();
    });
  }

  /** The clock of the node that is behind the others: whoever goes by it asks none of them too early. */
  now(): number {
    return Math.min(...this.#partitions.map((partition) => partition.now()));
  }

  /** As `now`: what has come by all of them has come by the one that is asked to write it. */
  async readClock(): Promise<number> {
    return Math.min(...(await this.#everywhere((partition) => partition.readClock())));
  }

  async commit(batch: readonly Transition[]): Promise<Commit> {
    const shares = await routeBatch(batch, this.#partitions.length, (letterId) => this.#findLetter(letterId));
    const done = await this.#applied([...shares]);
    const answers: Answer[] = [];
    for (const { share, applied } of done) {
      for (const [at, index] of share.indexes.entries()) answers[index] = applied.answers[at] as Answer;
    }
    const outboxes = done.map(({ place, applied }) => ({ from: place, outbox: applied.outbox }));
    const carried = await this.#courier.carry(outboxes);
    return { answers, wakes: mergedWakes([...done.flatMap(({ applied }) => applied.wakes), ...carried]) };
  }

  /** Where one part fails the batch is sent again as a whole: what was applied answers as it did. */
  async #applied(shares: readonly (readonly [number, Share])[]): Promise<readonly Done[]> {
    const settled = await Promise.allSettled(
      shares.map(async ([place, share]) => ({ place, share, applied: await this.#at(place).apply(share.transitions) })),
    );
    const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    if (errors.length === 0) return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    // What was applied may have left something in an outbox, and nobody has heard of it.
    this.#courier.leave();
    const foreign = errors.find((error) => !(error instanceof StoreError));
    if (foreign !== undefined) throw foreign;
    const [first, ...others] = errors as StoreError[];
    const isWhole = errors.length === shares.length && others.every(({ outcome }) => outcome === "notApplied");
    if (first === undefined || isWhole) throw first;
    throw new StoreError(first.code, "unknown", first.message, { cause: first });
  }

  async claim(request: ClaimRequest): Promise<readonly Run[]> {
    const count = this.#partitions.length;
    this.#turn = (this.#turn + 1) % count;
    const claimed: Run[] = [];
    let left = request.suspects?.max ?? 0;
    for (let step = 0; step < count && claimed.length < request.limit; step += 1) {
      const { suspects } = request;
      const bounds = suspects === undefined ? {} : { suspects: { claims: suspects.claims, max: Math.max(left, 0) } };
      const limit = request.limit - claimed.length;
      const runs = await this.#at((this.#turn + step) % count).claim({ ...request, ...bounds, limit });
      // A claim is counted when it is made, so one more than it was.
      if (suspects !== undefined) left -= runs.filter(({ claims }) => claims > suspects.claims).length;
      claimed.push(...runs);
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

  load(runId: string, afterSeq?: number): Promise<Loaded | null> {
    return this.#of(runId).load(runId, afterSeq);
  }

  async heartbeat(worker: string, leaseMs: number, workflows?: readonly WorkflowRef[]): Promise<Heartbeat> {
    const beats = await this.#everywhere((partition) => partition.heartbeat(worker, leaseMs, workflows));
    // What a process that is gone has left in an outbox is carried by those that live.
    await this.#sweep();
    return {
      alive: beats.every(({ alive }) => alive),
      freed: beats.reduce((sum, { freed }) => sum + freed, 0),
      owned: beats.flatMap(({ owned: held }) => held),
      nextDueAt: earliest(beats.map(({ nextDueAt }) => nextDueAt)),
      nextExpiryAt: earliest(beats.map(({ nextExpiryAt }) => nextExpiryAt)),
    };
  }

  async retire(worker: string): Promise<void> {
    await this.#everywhere((partition) => partition.retire(worker));
  }

  async prune(request: PruneRequest): Promise<Pruned> {
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
    this.#stopCarrying?.();
    await this.#everywhere((partition) => partition.close());
  }

  /** A letter that is not there may have been posted again by this very batch, and lie in an outbox. */
  async #findLetter(letterId: string): Promise<number | null> {
    const found = await this.#everywhere((partition) => partition.reader.deadLetter(letterId));
    const place = found.findIndex((letter) => letter !== null);
    if (place < 0) await this.#sweep();
    return place < 0 ? null : place;
  }

  async #sweep(): Promise<void> {
    const wakes: readonly Wake[] = await this.#courier.sweep();
    if (wakes.length > 0) this.#tell({ runIds: wakes.map(({ runId }) => runId) });
  }

  #tell(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }

  #everywhere<Result>(call: (partition: RedisStore) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#partitions.map(call));
  }

  #of(runId: string): RedisStore {
    return this.#at(placeOf(runId, this.#partitions.length));
  }

  #at(place: number): RedisStore {
    const partition = this.#partitions[place];
    if (partition === undefined) throw new Error(`there is no partition ${place}`);
    return partition;
  }
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
