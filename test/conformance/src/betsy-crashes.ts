import { createEngine, type Engine, PawlError, type Store } from "pawl";
import { type Crashable, crashable, intercepted, type VirtualWorld, virtualWorld } from "pawl/testing";
import { openBpmn, outcome } from "./betsy-adapter.ts";
import { Trace } from "./betsy-scripts.ts";
import type { BetsyCase } from "./betsy-suite.ts";

/** Short, so that taking over a run takes little of the timers' time. */
const LEASE_MS = 30;
const TAKE_OVER_MS = 45;
const CRASHES_MAX = 400;
/** Longer than the longest timer of the suite. */
const PASSING_MS = 70_000;

interface RunningEngine {
  readonly engine: Engine;
  readonly process: Crashable;
}

/**
 * Executes one case on a sequence of engines. Each engine crashes after its first commit was applied, and the next takes over its runs.
 * Time advances only when there is nothing to commit; then the commit of the next timer crashes the next engine.
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
  const first = await startEngine(shared, world, null);
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
  const crashes = await runUntilIdle(shared, world, trace);
  const last = await startEngine(shared, world, null);
  const reader = await openBpmn(last.engine, trace);
  await world.advance(TAKE_OVER_MS);
  const result = await outcome(reader, last.engine.run("case"), trace, test);
  last.process.crash();
  await store.close();
  return { trace: result, crashes };
}

/**
 * Creates one engine after the other until nothing happens. If an engine added no record, the next one may make one more commit;
 * otherwise work of several commits would restart forever.
 */
async function runUntilIdle(store: Store, world: VirtualWorld, trace: Trace): Promise<number> {
  const until = world.now() + PASSING_MS;
  let records = await recordsIn(store);
  let commit = 1;
  for (let crashes = 0; crashes < CRASHES_MAX; crashes += 1) {
    const { engine, process } = await startEngine(store, world, { commit, applied: true });
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
  throw new Error(`the case did not end after ${CRASHES_MAX} crashes`);
}

async function recordsIn({ reader }: Store): Promise<number> {
  const { items } = await reader.list({ limit: 100 });
  let count = 0;
  for (const { id } of items) count += (await reader.journal(id, { afterSeq: 0, limit: 1_000 })).length;
  return count;
}

async function startEngine(
  store: Store,
  world: VirtualWorld,
  at: Parameters<typeof crashable>[1],
): Promise<RunningEngine> {
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
