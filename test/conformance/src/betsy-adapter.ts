import { type Bpmn, createBpmn, type Job, type Variables } from "@pawl/bpmn";
import { createEngine, type Engine, PawlError, type RunHandle, type Store } from "pawl";
import { virtualWorld } from "pawl/testing";
import { evaluate, Trace } from "./betsy-scripts.ts";
import type { BetsyCase } from "./betsy-suite.ts";

/** Longer than the longest timer of the suite. */
const PASSING = "70 s";

/** Executes one case. Returns its sorted trace. */
export async function runBetsyCase(xml: string, test: BetsyCase, store: Store): Promise<readonly string[]> {
  const world = virtualWorld();
  const trace = new Trace(world);
  const engine = await createEngine({ store, world, log: () => undefined });
  try {
    const bpmn = await openBpmn(engine, trace);
    try {
      await bpmn.deploy(xml);
    } catch (error) {
      if (error instanceof PawlError) return ["ERROR_deployment"];
      throw error;
    }
    if (test.startParallelProcessFirst) {
      await bpmn.start("ParallelProcess", test.variables, { id: "parallel" });
      await world.settle();
    }
    const run = await bpmn.start(test.processKey, test.variables, { id: "case" });
    await world.advance(PASSING);
    return await outcome(bpmn, run, trace, test);
  } finally {
    await engine.shutdown({ drainMs: 0 });
  }
}

export function openBpmn(engine: Engine, trace: Trace): Promise<Bpmn> {
  const tasks = { scriptTask: (job: Job) => trace.script(job) };
  return createBpmn({ engine, tasks, evaluate, retry: { maxAttempts: 1 }, snapshotEvery: 3 });
}

/** The trace of a case in which nothing more happens. */
export async function outcome(
  bpmn: Bpmn,
  run: RunHandle<Variables>,
  trace: Trace,
  test: BetsyCase,
): Promise<readonly string[]> {
  const { incidents } = await bpmn.view(run.id);
  const errors = incidents.length > 0 ? ["ERROR_runtime"] : await failure(run);
  return [...trace.all(test.assertions), ...errors].sort();
}

async function failure(run: RunHandle<Variables>): Promise<readonly string[]> {
  if ((await run.status()) !== "failed") return [];
  const error = await run.result().catch((reason: unknown) => reason);
  const cause = error instanceof Error ? error.cause : null;
  const isThrown = cause instanceof Error && "code" in cause && cause.code === "BPMN_ERROR";
  return [isThrown ? "ERROR_thrownErrorEvent" : "ERROR_runtime"];
}

/** True if the trace has the entries that the case expects, in any order. */
export function isAsExpected(trace: readonly string[], { assertions }: BetsyCase): boolean {
  if (assertions.includes("ERROR")) return trace.includes("ERROR_deployment") || trace.includes("ERROR_runtime");
  return JSON.stringify(trace) === JSON.stringify([...assertions].sort());
}
