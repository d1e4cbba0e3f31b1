import { createEngine, type Engine, PawlError, type Store } from "pawl";
import { type Crashable, crashable, intercepted, type VirtualWorld, virtualWorld } from "pawl/testing";
import { openBpmn, outcome } from "./betsy-adapter.ts";
import { Trace } from "./betsy-scripts.ts";
import type { BetsyCase } from "./betsy-suite.ts";

/** Short, so that taking a run over costs little of the time that timers count. */
const LEASE_MS = 30;
const TAKE_OVER_MS = 45;
const CRASHES_MAX = 400;
/** Longer than the longest timer of the suite. */
const PASSING_MS = 70_000;

interface Living {
  readonly engine: Engine;
  readonly process: Crashable;
}

/**
 * Runs one case on a line of engines, each of which ends without a word at its first commit, once it is applied: the next one
 * takes the runs over. Only when nothing is left to commit does time pass, and the next timer ends the next one.
 */
export async function runBetsyCaseCrashing(
  xml: string,
  test: BetsyCase,
  store: Store,
): Promise<{ readonly trace: readonly string[]; readonly crashes: number }> {
  const world = virtualWorld();
  const trace = new Trace(world);
  const shared = intercepted(store, async (call, proceed) =>
    call.method === "close" ? (undefined as never) : await proceed(),
  );
  const first = await live(shared, world, null);
  const bpmn = await openBpmn(first.engine, trace);
  try {
    await bpmn.deploy(xml);
  } catch (error) {
    if (error instanceof PawlError) return { trace: ["ERROR_deployment"], crashes: 0 };
    throw error;
  }
  if (test.startParallelProcessFirst) {
    await bpmn.start("ParallelProcess", test.variables, { id: "parallel" });
    await world.settle();
  }
  await bpmn.start(test.processKey, test.variables, { id: "case" });
  first.process.crash();
  const crashes = await relay(shared, world, trace);
  const last = await live(shared, world, null);
  const reader = await openBpmn(last.engine, trace);
  await world.advance(TAKE_OVER_MS);
  const told = await outcome(reader, last.engine.run("case"), trace, test);
  last.process.crash();
  await store.close();
  return { trace: told, crashes };
}

/**
 * Engines, one after the other, until nothing happens any more. Where one has brought no record, the next lives a commit longer:
 * work that takes its time would begin anew for ever.
 */
async function relay(store: Store, world: VirtualWorld, trace: Trace): Promise<number> {
  const until = world.now() + PASSING_MS;
  let records = await recordsIn(store);
  let commit = 1;
  for (let crashes = 0; crashes < CRASHES_MAX; crashes += 1) {
    const { engine, process } = await live(store, world, { commit, applied: true });
    await openBpmn(engine, trace);
    await world.advance(TAKE_OVER_MS);
    while (!process.crashed && world.now() < until) await world.advance("250 ms");
    const before = records;
    records = await recordsIn(store);
    commit = records > before ? 1 : commit + 1;
    if (process.crashed) continue;
    process.crash();
    return crashes;
  }
  throw new Error(`there was something to commit after ${CRASHES_MAX} crashes`);
}

async function recordsIn({ reader }: Store): Promise<number> {
  const { items } = await reader.list({ limit: 100 });
  let count = 0;
  for (const { id } of items) count += (await reader.journal(id, { afterSeq: 0, limit: 1_000 })).length;
  return count;
}

async function live(store: Store, world: VirtualWorld, at: Parameters<typeof crashable>[1]): Promise<Living> {
  const process = crashable(store, at);
  const engine = await createEngine({
    store: process.store,
    world: process.inWorld(world),
    lease: LEASE_MS,
    poll: 10,
    claimsMax: 1_000,
    log: () => undefined,
  });
  return { engine, process };
}
