import type { Wake } from "../../model/transition.ts";
import { StoreError } from "../store-error.ts";
import type { OutboxReply } from "./decode-reply.ts";
import type { RedisStore } from "./redis-store.ts";

interface PartitionDelivery {
  readonly from: number;
  readonly to: number;
  readonly messages: readonly string[];
}

/** How often what arrived makes something leave again before the rest is left for later. */
const ROUNDS_MAX = 32;
/** As many messages as the script gives at once: there may be more. */
const MESSAGES_READ = 100;

/**
 * Carries what runs and topics of one partition say to those of another.
 *
 * 1. A message lies in the outbox of its partition from the commit that it belongs to until the other partition has taken it.
 * 2. An outbox is emptied from the oldest message on, and the partition that takes from it remembers the last number: whoever
 *    carries, and however often, each message takes effect once, in order.
 * 3. A partition that can't be reached keeps nobody from going on; what is left is carried later, by anybody.
 */
export class PartitionMessages {
  readonly #partitions: readonly RedisStore[];
  #hasLeft = false;

  constructor(partitions: readonly RedisStore[]) {
    this.#partitions = partitions;
  }

  /** Whether something may lie in an outbox that nobody carries. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  leave(): void {
    this.#hasLeft = true;
  }

  /** Gives the runs that became ready by it. */
  async carry(outboxes: readonly { readonly from: number; readonly outbox: OutboxReply }[]): Promise<readonly Wake[]> {
    const wakes: Wake[] = [];
    let errands = outboxes.flatMap(({ from, outbox }) => errandsOf(from, outbox));
    for (let round = 0; errands.length > 0; round += 1) {
      if (round === ROUNDS_MAX) {
        this.#hasLeft = true;
        break;
      }
      const done = await Promise.all(errands.map((errand) => this.#do(errand, wakes)));
      errands = done.flat();
    }
    return wakes;
  }

  /** Carries whatever lies anywhere. */
  async sweep(): Promise<readonly Wake[]> {
    this.#hasLeft = false;
    const outboxes = await Promise.all(
      this.#partitions.map(async (partition, from) => {
        const outbox = await this.#reaching(() => partition.ask("outbox", []));
        return { from, outbox: (outbox ?? []) as OutboxReply };
      }),
    );
    return await this.carry(outboxes);
  }

  /** Gives what is to be done next: what arrived may have made something leave. */
  async #do({ from, to, messages }: PartitionDelivery, wakes: Wake[]): Promise<readonly PartitionDelivery[]> {
    const delivered = await this.#reaching(() => this.#at(to).deliver(from, messages));
    if (delivered === null) return [];
    wakes.push(...delivered.wakes);
    const acknowledged = this.#reaching(() => this.#at(from).acknowledge(to, delivered.taken));
    // Nobody has to wait for this: what stays in the outbox is passed over where it was taken.
    if (messages.length < MESSAGES_READ) return errandsOf(to, delivered.outbox);
    await acknowledged;
    const rest = ((await this.#reaching(() => this.#at(from).ask("outbox", []))) ?? []) as OutboxReply;
    const more = rest.filter(([place]) => place === to);
    return [...errandsOf(to, delivered.outbox), ...errandsOf(from, more)];
  }

  #at(place: number): RedisStore {
    const partition = this.#partitions[place];
    if (partition === undefined) throw new Error(`there is no partition ${place}`);
    return partition;
  }

  async #reaching<Result>(call: () => Promise<Result>): Promise<Result | null> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#hasLeft = true;
      return null;
    }
  }
}

function errandsOf(from: number, outbox: OutboxReply): readonly PartitionDelivery[] {
  return outbox.map(([to, messages]) => ({ from, to, messages }));
}

/** Runs that were woken by several scripts are told once, and have to read what came. */
export function mergedWakes(wakes: readonly Wake[]): readonly Wake[] {
  const byRun = new Map<string, Wake>();
  for (const wake of wakes) byRun.set(wake.runId, byRun.has(wake.runId) ? { ...wake, entries: null } : wake);
  return [...byRun.values()];
}
