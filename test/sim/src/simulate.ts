import { checkEndStates } from "./check-end-states.ts";
import type { Pawl } from "./engine-under-test.ts";
import { hasEnded } from "./expected-run.ts";
import type { Matrix } from "./fault-matrix.ts";
import type { Violation } from "./monitor.ts";
import { START_AT } from "./scheduler.ts";
import type { SimCase } from "./sim-case.ts";
import { Simulation } from "./simulation.ts";

/** The result of one simulation. */
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
/** The maximum virtual time from the last fault until all runs have ended. */
const RECOVERY_MS = 600_000;
/** The virtual time after all runs have ended, in which nothing may change. */
const QUIET_MS = 2_000;

/** Executes a case: first a phase with faults, then one without, in which every run must end. */
export async function simulate(pawl: Pawl, plan: SimCase): Promise<Outcome> {
  const simulation = new Simulation(pawl, plan);
  const { scheduler, monitor, client } = simulation;
  const onUnhandledRejection = (error: unknown): void =>
    monitor.violate("engine", `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`);
  process.on("unhandledRejection", onUnhandledRejection);
  const violated = (): boolean => monitor.violations.length > 0;
  try {
    await simulation.open();
    await scheduler.run(() => violated() || scheduler.now >= START_AT + plan.chaosMs, STEPS_MAX);
    simulation.stopFaults();
    client.provide();
    const healedBy = scheduler.now + RECOVERY_MS;
    const settled = (): boolean => client.idle && allEnded(simulation);
    await scheduler.run(() => violated() || settled() || scheduler.now >= healedBy, STEPS_MAX);
    if (!violated() && !settled()) monitor.violate("liveness", unsettled(simulation));
    const afterAt = scheduler.now + QUIET_MS;
    const notifiedBy = scheduler.now + RECOVERY_MS;
    // A worker with the run in memory may acquire its resources once more, until it is notified that the run has ended.
    const allNotified = (): boolean =>
      (client.watched.length === 0 && simulation.bodies.held.length === 0) || scheduler.now >= notifiedBy;
    await scheduler.run(() => violated() || (scheduler.now >= afterAt && allNotified()), STEPS_MAX);
    if (!violated() && client.watched.length > 0)
      monitor.violate("liveness", `results were never delivered: ${client.watched.join(", ")}`);
    if (!violated()) await checkEndStates(simulation);
  } finally {
    simulation.close();
    process.off("unhandledRejection", onUnhandledRejection);
  }
  return {
    violations: monitor.violations,
    hash: scheduler.hash,
    steps: scheduler.steps,
    virtualMs: scheduler.now - START_AT,
    runs: monitor.expectedRuns.size,
    calls: simulation.calls,
    matrix: simulation.matrix,
    trace: scheduler.trace,
  };
}

function allEnded(simulation: Simulation): boolean {
  const { expectedRuns } = simulation.monitor;
  if (simulation.case.runs.some((run) => !expectedRuns.has(run.id))) return false;
  for (const expectedRun of expectedRuns.values()) if (!hasEnded(expectedRun.row)) return false;
  return true;
}

function unsettled(simulation: Simulation): string {
  const open = [...simulation.monitor.expectedRuns.values()]
    .filter((expectedRun) => !hasEnded(expectedRun.row))
    .map(({ row }) => {
      const { id, status, owner, epoch, wakeAt, wait } = row;
      const owned =
        owner === null
          ? "nobody"
          : (simulation.usable.find((worker) => worker.engineId === owner)?.name ?? "a dead worker");
      return `${id} ${status} owned by ${owned} epoch ${epoch} wakeAt ${wakeAt} wait ${JSON.stringify(wait)}`;
    });
  return `at ${simulation.storeNow} not ended: ${open.join("; ")}; client ${simulation.client.idle ? "idle" : "not answered"}`;
}
