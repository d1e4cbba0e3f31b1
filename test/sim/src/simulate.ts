import type { Case } from "./case.ts";
import type { Pawl } from "./engine-under-test.ts";
import { checkEnds } from "./finale.ts";
import type { Matrix } from "./matrix.ts";
import type { Violation } from "./monitor.ts";
import { BEGIN_AT } from "./scheduler.ts";
import { isOver } from "./shadow.ts";
import { World } from "./world.ts";

/** What came of one simulation. */
export interface Outcome {
  readonly violations: readonly Violation[];
  readonly hash: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly runs: number;
  readonly calls: number;
  readonly matrix: Matrix;
  readonly trace: readonly string[];
}

const STEPS_MAX = 60_000;
/** How long, in virtual time, everything may take to end once nothing goes wrong any more. */
const HEALING_MS = 600_000;
/** How long it goes on when all has ended: nothing may change any more. */
const AFTER_MS = 2_000;

/** Runs a case to its end: first things go wrong, then nothing does, and every run must end. */
export async function simulate(pawl: Pawl, plan: Case): Promise<Outcome> {
  const world = new World(pawl, plan);
  const { scheduler, monitor, client } = world;
  const stray = (error: unknown): void =>
    monitor.violate("engine", `a rejection nobody handles: ${error instanceof Error ? error.stack : String(error)}`);
  process.on("unhandledRejection", stray);
  const violated = (): boolean => monitor.violations.length > 0;
  try {
    await world.open();
    await scheduler.run(() => violated() || scheduler.now >= BEGIN_AT + plan.chaosMs, STEPS_MAX);
    world.calm();
    client.provide();
    const healedBy = scheduler.now + HEALING_MS;
    const settled = (): boolean => client.idle && allOver(world);
    await scheduler.run(() => violated() || settled() || scheduler.now >= healedBy, STEPS_MAX);
    if (!violated() && !settled()) monitor.violate("liveness", unsettled(world));
    const afterAt = scheduler.now + AFTER_MS;
    const heardBy = scheduler.now + HEALING_MS;
    // A worker that has a run in memory may take up its resources once more, until the store tells it that the run is over.
    const heard = (): boolean =>
      (client.watched.length === 0 && world.bodies.held.length === 0) || scheduler.now >= heardBy;
    await scheduler.run(() => violated() || (scheduler.now >= afterAt && heard()), STEPS_MAX);
    if (!violated() && client.watched.length > 0)
      monitor.violate("liveness", `results were never given: ${client.watched.join(", ")}`);
    if (!violated()) await checkEnds(world);
  } finally {
    world.close();
    process.off("unhandledRejection", stray);
  }
  return {
    violations: monitor.violations,
    hash: scheduler.hash,
    steps: scheduler.steps,
    virtualMs: scheduler.now - BEGIN_AT,
    runs: monitor.shadows.size,
    calls: world.calls,
    matrix: world.matrix,
    trace: scheduler.trace,
  };
}

function allOver(world: World): boolean {
  const { shadows } = world.monitor;
  if (world.case.runs.some((run) => !shadows.has(run.id))) return false;
  for (const shadow of shadows.values()) if (!isOver(shadow.row)) return false;
  return true;
}

function unsettled(world: World): string {
  const open = [...world.monitor.shadows.values()]
    .filter((shadow) => !isOver(shadow.row))
    .map(({ row }) => {
      const { id, status, owner, epoch, wakeAt, wait } = row;
      const owned =
        owner === null ? "nobody" : (world.usable.find((worker) => worker.engineId === owner)?.name ?? "a dead worker");
      return `${id} ${status} owned by ${owned} epoch ${epoch} wakeAt ${wakeAt} wait ${JSON.stringify(wait)}`;
    });
  return `at ${world.storeNow} not ended: ${open.join("; ")}; client ${world.client.idle ? "idle" : "not answered"}`;
}
