import type { Wake } from "../../model/transition.ts";
import { StoreError } from "../store-error.ts";
import type { OutboxReply } from "./decode-reply.ts";
import type { RedisStore } from "./redis-store.ts";

/** Messages from the outbox of one partition for another. */
interface PartitionDelivery {
  readonly from: number;
  readonly to: number;
  readonly messages: readonly string[];
}

/** Delivered messages may cause new messages. After this many rounds the rest is left to the next sweep. */
const ROUNDS_MAX = 32;
/** How many messages the script returns at most. An outbox that returns this many may have more. */
const MESSAGES_READ = 100;

/**
 * Delivers messages between runs and topics of different partitions.
 *
 * 1. A message is in the outbox of its partition from the commit that sent it until the other partition has received it.
 * 2. An outbox is delivered oldest first, and the receiver stores the number of the last message. So each message takes effect once
 *    and in order, even if several processes deliver it.
 * 3. An unreachable partition does not block the others. Any process delivers its messages later.
 */
export class PartitionMessages {
  readonly #partitions: readonly RedisStore[];
  #hasUndelivered = false;

  constructor(partitions: readonly RedisStore[]) {
    this.#partitions = partitions;
  }

  /** Whether an outbox may have messages that this process does not deliver at the moment. */
  get hasUndelivered(): boolean {
    return this.#hasUndelivered;
  }

  /** To be called when a commit may have sent messages and its reply was lost. */
  markUndelivered(): void {
    this.#hasUndelivered = true;
  }

  /** Delivers these messages, and the messages that they cause. Returns the runs that became ready. */
  async deliver(
    outboxes: readonly { readonly from: number; readonly outbox: OutboxReply }[],
  ): Promise<readonly Wake[]> {
    const wakes: Wake[] = [];
    let deliveries = outboxes.flatMap(({ from, outbox }) => deliveriesOf(from, outbox));
    for (let round = 0; deliveries.length > 0; round += 1) {
      if (round === ROUNDS_MAX) {
        this.#hasUndelivered = true;
        break;
      }
      const next = await Promise.all(deliveries.map((delivery) => this.#deliverOne(delivery, wakes)));
      deliveries = next.flat();
    }
    return wakes;
  }

  /** Delivers the messages of all outboxes. */
  async sweep(): Promise<readonly Wake[]> {
    this.#hasUndelivered = false;
    const outboxes = await Promise.all(
      this.#partitions.map(async (partition, from) => {
        const outbox = await this.#orUndelivered(() => partition.readForPartition("outbox", []));
        return { from, outbox: (outbox ?? []) as OutboxReply };
      }),
    );
    return await this.deliver(outboxes);
  }

  /** Returns the deliveries that follow: messages that these caused, and the rest of the outbox. */
  async #deliverOne({ from, to, messages }: PartitionDelivery, wakes: Wake[]): Promise<readonly PartitionDelivery[]> {
    const delivered = await this.#orUndelivered(() => this.#at(to).deliver(from, messages));
    if (delivered === null) return [];
    wakes.push(...delivered.wakes);
    const acknowledged = this.#orUndelivered(() => this.#at(from).acknowledge(to, delivered.receivedLast));
    // No caller waits for the acknowledgement: the receiver skips messages that it has received before.
    if (messages.length < MESSAGES_READ) return deliveriesOf(to, delivered.outbox);
    await acknowledged;
    const reply = await this.#orUndelivered(() => this.#at(from).readForPartition("outbox", []));
    const rest = ((reply ?? []) as OutboxReply).filter(([target]) => target === to);
    return [...deliveriesOf(to, delivered.outbox), ...deliveriesOf(from, rest)];
  }

  #at(index: number): RedisStore {
    const partition = this.#partitions[index];
    if (partition === undefined) throw new Error(`partition ${index} not found`);
    return partition;
  }

  /** Returns null if the store fails, and leaves the messages to the next sweep. */
  async #orUndelivered<Result>(call: () => Promise<Result>): Promise<Result | null> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#hasUndelivered = true;
      return null;
    }
  }
}

function deliveriesOf(from: number, outbox: OutboxReply): readonly PartitionDelivery[] {
  return outbox.map(([to, messages]) => ({ from, to, messages }));
}

/** Merges wakes of the same run. A run that several scripts woke reads its inbox: `entries` is null. */
export function mergedWakes(wakes: readonly Wake[]): readonly Wake[] {
  const byRun = new Map<string, Wake>();
  for (const wake of wakes) byRun.set(wake.runId, byRun.has(wake.runId) ? { ...wake, entries: null } : wake);
  return [...byRun.values()];
}
