import { expect, it, onTestFinished } from "vitest";
import type { Transition } from "../../model/transition.ts";
import { seededSequence } from "../../runtime/random.ts";
import {
  append,
  completed,
  control,
  create,
  event,
  message,
  post,
  suspended,
  T0,
} from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Commit, Store } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type RedisClient, RedisConnection } from "./connection.ts";
import { redisStore } from "./index.ts";
import { PartitionedStore } from "./partitioned-store.ts";
import { partitionOf, partitionPrefixes, slotOf } from "./partitions.ts";
import { redisClient } from "./redis-client.ts";
import { RedisStore } from "./redis-store.ts";
import { checkPartitions, sharedClient } from "./shared-client.ts";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;
const SEED = Number(process.env.SEED ?? 20_261_118);
const STEPS = 1_000;
const COUNT = 5;
const ATTEMPTS_MAX = 100;
let last = 0;

function freshPrefix(): string {
  last += 1;
  return `partitioned:${process.pid}:${last}`;
}

/** Loses commands and replies, as a breaking connection does. `share` is the percentage of each. */
function losing(client: RedisClient, next: () => number, share: () => number): RedisClient {
  const broken = (): Error => new Error("the connection broke");
  return {
    ...client,
    send: async (key, args) => {
      const roll = next() * 100;
      if (roll < share()) throw broken();
      const reply = await client.send(key, args);
      if (roll < share() * 2) throw broken();
      return reply;
    },
  };
}

interface Faulty {
  readonly store: Store;
  /** The percentage of commands that are lost, and of replies. */
  share: number;
}

async function faultyStore(next: () => number): Promise<Faulty> {
  const client = sharedClient(await redisClient(ADDRESS ?? "", { silenceMs: 10_000 }), () => undefined);
  const state = { share: 0 };
  const through = losing(client, next, () => state.share);
  const partitions = partitionPrefixes(freshPrefix(), COUNT).map((prefix, index) => {
    const connect = async () => new RedisConnection(through, prefix, { index, count: COUNT });
    return new RedisStore({
      connect,
      check: async () => undefined,
      checkLayout: null,
      allow: [],
      clock: "process",
      silenceMs: 10_000,
    });
  });
  const store = new PartitionedStore(partitions);
  await store.open(new ManualWorld(T0));
  onTestFinished(() => store.close());
  return Object.assign(state, { store });
}

async function withRetries<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreError) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** A turn may skip inbox entries, so the test ends after this many turns without a new one. */
const IDLE_TURNS = 8;
const TOPICS = ["t0", "t1", "t2", "t3"] as const;

/** Runs that wait, receive, stop waiting, send and end at random, and the entries that each of them received. */
class RandomTraffic {
  readonly received = new Map<string, string[]>();
  readonly emitted: string[] = [];
  readonly sent: string[] = [];
  readonly #store: Store;
  readonly #next: () => number;
  readonly #open: string[] = [];
  #number = 0;

  constructor(store: Store, next: () => number) {
    this.#store = store;
    this.#next = next;
  }

  async step(): Promise<void> {
    const roll = this.#next();
    if (this.#open.length < 6 || roll < 0.05) await this.#start();
    else if (roll < 0.35) await this.#emit();
    else if (roll < 0.9) await this.#move(this.#pick(this.#open));
    else await this.#commit(append(...(await this.#ending(this.#pick(this.#open)))));
  }

  /** Receives all that is left: open runs empty their inboxes, and a new run waits on all topics until nothing arrives. */
  async drain(): Promise<void> {
    for (const id of this.#open) await this.#emptyInbox(id);
    await this.#start();
    const id = this.#open.at(-1) ?? "";
    for (let idle = 0; idle < IDLE_TURNS; idle += 1) {
      const before = this.received.get(id)?.length ?? 0;
      await this.#commit(append(...(await this.#turn(id, suspended({ topics: [...TOPICS] })))));
      await this.#store.heartbeat("w", 1_000_000);
      if (this.received.get(id)?.length !== before) idle = 0;
    }
  }

  async #start(): Promise<void> {
    this.#number += 1;
    const id = `r${this.#number}`;
    await this.#commit(create(id, { owner: "w" }));
    this.#open.push(id);
  }

  async #emit(): Promise<void> {
    this.#number += 1;
    const id = `e${this.#number}`;
    const consume = this.#next() < 0.7 ? "one" : "all";
    this.emitted.push(`${consume} ${id}`);
    await this.#commit(post(event(this.#pick(TOPICS), id, { consume, expireAt: T0 + 1_000_000, pendingMax: 10_000 })));
  }

  /** Receives entries, then waits again, stops waiting as after a timeout, or sends a message. */
  async #move(id: string): Promise<void> {
    const roll = this.#next();
    const topics = TOPICS.filter(() => this.#next() < 0.5);
    const state =
      roll < 0.6 ? suspended({ topics, messages: ["m"] }) : ({ status: "running", wait: null, inboxSeen: 0 } as const);
    const [run, fields] = await this.#turn(id, state);
    if (roll < 0.8) return await this.#commit(append(run, fields));
    this.#number += 1;
    const to = this.#pick(this.#open);
    this.sent.push(`m${this.#number}`);
    const sent = message(to, `m${this.#number}`, { name: "m", from: id, onTargetTerminated: "deadLetter" });
    await this.#commit(append(run, { ...fields, posts: [sent] }));
  }

  async #emptyInbox(id: string): Promise<void> {
    await this.#commit(append(...(await this.#turn(id, { status: "running", wait: null, inboxSeen: 0 }))));
  }

  async #ending(id: string): Promise<Parameters<typeof append>> {
    this.#open.splice(this.#open.indexOf(id), 1);
    const { run } = await this.#loaded(id);
    return [id, { epoch: run.epoch, turn: run.turn + 1, state: completed() }];
  }

  async #turn(id: string, state: NonNullable<Extract<Transition, { kind: "append" }>["state"]>) {
    const { run, inbox } = await this.#loaded(id);
    const taken = inbox.filter(() => state.status !== "suspended" || this.#next() < 0.9);
    const received = this.received.get(id) ?? [];
    received.push(...taken.map((entry) => entry.id));
    this.received.set(id, received);
    const seen = "inboxSeen" in state ? { ...state, inboxSeen: run.inboxLast } : state;
    return [
      id,
      { epoch: run.epoch, turn: run.turn + 1, taken: taken.map(({ n }) => n), state: seen },
    ] satisfies Parameters<typeof append>;
  }

  async #loaded(id: string) {
    const loaded = await withRetries(() => this.#store.load(id));
    if (loaded === null) throw new Error(`run ${id} not found`);
    return loaded;
  }

  async #commit(...batch: Transition[]): Promise<void> {
    const { answers }: Commit = await withRetries(() => this.#store.commit(batch));
    for (const answer of answers) expect(answer).toMatchObject({ kind: "applied" });
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#next() * items.length)] as Item;
  }
}

it.skipIf(ADDRESS === undefined)(
  `a partitioned store delivers each single-consumer event and each message once, although commands and replies are lost (seed ${SEED})`,
  async () => {
    const next = seededSequence(SEED);
    const faulty = await faultyStore(next);
    const traffic = new RandomTraffic(faulty.store, next);
    faulty.share = 4;
    for (let step = 0; step < STEPS; step += 1) await traffic.step();
    faulty.share = 0;
    await faulty.store.heartbeat("w", 1_000_000);
    await traffic.drain();
    const all = [...traffic.received.values()].flat();
    const letters = (await faulty.store.reader.deadLetters({ limit: 10_000 })).items.map(({ id }) => id);
    const counts = (id: string): number => all.filter((one) => one === id).length;
    const wrong = traffic.emitted.flatMap((line) => {
      const [consume, id] = line.split(" ");
      const count = counts(`event:${id}`);
      return consume === "all" || count === 1 ? [] : [`${line} was received ${count} times`];
    });
    expect(wrong).toEqual([]);
    const missing = traffic.sent.filter(
      (id) => counts(id) + letters.filter((one) => one.endsWith(`//${id}`)).length !== 1,
    );
    expect(missing).toEqual([]);
    for (const [run, ids] of traffic.received) expect(new Set(ids).size, `${run}: ${ids}`).toBe(ids.length);
    expect(traffic.emitted.length).toBeGreaterThan(200);
  },
);

it.skipIf(ADDRESS === undefined)(
  "a run that gets an event already in its inbox from another partition keeps waiting for the next one",
  async () => {
    const { store } = await faultyStore(() => 1);
    const topic = TOPICS.find((name) => partitionOf(name, COUNT) !== partitionOf("r", COUNT)) ?? "";
    await store.commit([create("r", { owner: "w" })]);
    const copy = { kind: "event", id: "event:e1", name: topic, value: null, status: null, at: T0 } as const;
    const restore = [{ ...copy, onTargetTerminated: "discard" } as const];
    const journal = { seen: null, cutAfter: null, add: [], restore };
    const state = { status: "reopened", at: T0, version: null, undo: "none" } as const;
    await store.commit([control("r", { state, journal })]);
    const [run] = await store.claim({ worker: "w", limit: 1, workflows: [{ name: "order", version: 1 }] });
    const waits = { ...suspended({ topics: [topic] }), inboxSeen: run?.inboxLast ?? 0 };
    await store.commit([append("r", { epoch: run?.epoch ?? 0, turn: 1, state: waits })]);
    await store.commit([post(event(topic, "e1"))]);
    expect(await store.dueRuns("w", 1)).toEqual([]);
    await store.commit([post(event(topic, "e2"))]);
    expect((await store.reader.inbox("r")).map(({ id }) => id)).toEqual(["event:e1", "event:e2"]);
    expect(await store.dueRuns("w", 1)).toMatchObject([{ id: "r" }]);
  },
);

it.skipIf(ADDRESS === undefined)("a store that was created with another number of partitions is rejected", async () => {
  const prefix = freshPrefix();
  const open = async (partitions: number): Promise<unknown> => {
    const store = redisStore(ADDRESS ?? "", { prefix, partitions });
    return await store
      .open(new ManualWorld(T0))
      .then(() => store.close())
      .catch((error: { readonly code?: unknown }) => error.code);
  };
  expect([await open(3), await open(3), await open(1), await open(4)]).toEqual([
    undefined,
    undefined,
    "STORE_UNSUPPORTED",
    "STORE_UNSUPPORTED",
  ]);
});

it.skipIf(ADDRESS === undefined)("a Redis store whose rows have another layout is rejected", async () => {
  const prefix = freshPrefix();
  const client = await redisClient(ADDRESS ?? "", { silenceMs: 10_000 });
  await client.connect();
  await client.send("n", ["SET", `{${prefix}}:n`, "1"]);
  await client.close();
  const store = redisStore(ADDRESS ?? "", { prefix });
  await expect(store.open(new ManualWorld(T0))).rejects.toMatchObject({
    code: "STORE_UNSUPPORTED",
    message: expect.stringContaining("has layout 1"),
  });
});

it.skipIf(ADDRESS === undefined).each([1, 3])(
  "a heartbeat on Redis is rejected after a newer release has changed the layout, with %i partitions",
  async (partitions) => {
    const prefix = freshPrefix();
    const store = redisStore(ADDRESS ?? "", { prefix, partitions });
    await store.open(new ManualWorld(T0));
    onTestFinished(() => store.close());
    expect(await store.heartbeat("w", 1_000)).toMatchObject({ freed: 0 });
    const client = await redisClient(ADDRESS ?? "", { silenceMs: 10_000 });
    await client.connect();
    await client.send("n", ["SET", `{${prefix}}:n`, `${partitions}/99`]);
    await client.close();
    await expect(store.heartbeat("w", 1_000)).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringContaining("has layout 99"),
    });
  },
);

it("partitions are spread evenly over cluster slots, and runs evenly over partitions", () => {
  for (const count of [2, 3, 16, 256]) {
    const tags = partitionPrefixes("shop", count).map((prefix) => prefix.slice(1, -1));
    expect(tags.map((tag) => Math.floor((slotOf(tag) * count) / 16_384))).toEqual(tags.map((_, index) => index));
  }
  expect(partitionPrefixes("shop", 1)).toEqual(["{shop}"]);
  // The example of the Redis Cluster specification.
  expect(slotOf("123456789")).toBe(0x31c3);
  const counts = [0, 0, 0, 0];
  for (let run = 0; run < 4_000; run += 1)
    counts[partitionOf(`run-${run}`, 4)] = (counts[partitionOf(`run-${run}`, 4)] ?? 0) + 1;
  expect(Math.min(...counts)).toBeGreaterThan(850);
});

it("a connection that breaks while a Redis store is opened gives a StoreError", async () => {
  const nothing = async (): Promise<undefined> => undefined;
  const client: RedisClient = {
    connect: nothing,
    send: () => Promise.reject(new Error("the connection broke")),
    subscribe: nothing,
    onReady: () => undefined,
    close: nothing,
  };
  await expect(checkPartitions(client, "shop", 1)).rejects.toBeInstanceOf(StoreError);
});
