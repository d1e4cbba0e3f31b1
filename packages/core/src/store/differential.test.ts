import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { seededSequence } from "../runtime/random.ts";
import { ManualWorld } from "../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../testing/store-contract/perform.ts";
import { StoreActions } from "../testing/store-contract/store-actions.ts";
import { memoryStore } from "./memory/memory-store.ts";
import { sqliteStore } from "./sqlite/index.ts";
import type { Store } from "./store.ts";

const TRANSITIONS = 5_000;
const SEED = Number(process.env.SEED ?? 20_261_115);

/** Counts answers by kind. A sequence without refusals or wakes would test little. */
type Tally = Map<string, number>;

function tally(counts: Tally, action: string, answer: unknown): void {
  const text = JSON.stringify(answer) ?? "";
  const words = [
    "exists",
    "notFound",
    "terminal",
    "fenced",
    "inbox",
    "early",
    'again":true',
    "runId",
    "delivered",
    "queued",
  ];
  for (const word of [...words, "dropped", "duplicate", "targetNotFound", "targetTerminated"]) {
    if (text.includes(word)) counts.set(`${action} ${word}`, (counts.get(`${action} ${word}`) ?? 0) + 1);
  }
  counts.set(action, (counts.get(action) ?? 0) + 1);
}

/** Performs the same actions on a memory store and on SQLite, where each action uses one of several connections. */
async function compare(seed: number, connections: number): Promise<Tally> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-"));
  const path = join(folder, "store.db");
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const tried = Array.from({ length: connections }, () => sqliteStore(path, { synchronous: "NORMAL" }));
  for (const store of [oracle, ...tried]) await store.open(world);
  const actions = new StoreActions(seed);
  const pick = seededSequence(seed + 1);
  const counts: Tally = new Map();
  let sent = 0;
  for (let step = 0; sent < TRANSITIONS; step += 1) {
    const action = await actions.action(oracle);
    if (action.kind === "advance") world.advance(action.ms);
    if (action.kind === "commit") sent += action.batch.length;
    const store = tried[Math.floor(pick() * tried.length)] as Store;
    const expected = await perform(oracle, action);
    const where = `seed ${seed}, action ${step}: ${JSON.stringify(action)}`;
    expect(await perform(store, action), where).toEqual(expected);
    tally(counts, action.kind, expected);
    if (step % 100 === 0) expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
  }
  expect(await dumpStore(tried[0] as Store), `seed ${seed}, at the end`).toEqual(await dumpStore(oracle));
  for (const store of [oracle, ...tried]) await store.close();
  await rm(folder, { recursive: true, force: true });
  return counts;
}

it(`${TRANSITIONS} random transitions give the same answers and rows in memory and SQLite (seed ${SEED})`, async () => {
  const counts = await compare(SEED, 1);
  for (const word of ["exists", "notFound", "terminal", "fenced", "inbox", "early", 'again":true', "runId"]) {
    expect(counts.get(`commit ${word}`) ?? 0, word).toBeGreaterThan(0);
  }
  for (const word of ["delivered", "queued", "dropped", "duplicate", "targetNotFound", "targetTerminated"]) {
    expect(counts.get(`commit ${word}`) ?? 0, word).toBeGreaterThan(0);
  }
}, 120_000);

it(`three SQLite connections that take turns give the same answers and rows as memory (seed ${SEED})`, async () => {
  await compare(SEED + 7, 3);
}, 120_000);
