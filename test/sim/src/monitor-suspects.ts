import type { ClaimedRun, Run } from "pawl";
import { crashesInBodiesOnly } from "./generate-killer.ts";
import type { Execution } from "./interpreter-frame.ts";
import type { ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** A run with so many claims is a suspect. Its third claim is the first in which it is alone. */
const SUSPECT_CLAIMS = 2;

/** How long a worker executes a lone suspect alone. */
const ALONE_LEASES = 2;

interface Held {
  readonly runId: string;
  /** Until when no other run is executed beside it. */
  readonly until: number;
  /** Whether the worker executed nothing when it claimed the run. */
  readonly wasIdle: boolean;
}

/** Checks how suspects are claimed, and that a lone suspect is executed alone. */
export class SuspectMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  /** The last lone suspect that each worker claimed. */
  readonly #held = new Map<string, Held>();

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  claimed(worker: SimProcess, runs: readonly ClaimedRun[], before: ReadonlyMap<string, Run>): void {
    if (runs.length === 0) return;
    this.#checkBeside(worker, before);
    this.#checkGroup(runs, before);
    for (const run of runs) this.#checkPoisoned(run);
    const lone = runs.find(({ claims }) => claims > SUSPECT_CLAIMS + 1);
    if (lone === undefined) return;
    if (runs.length > 1)
      this.#violate(`${worker.name} claimed run ${lone.id}, which lost its worker alone, with others`);
    const until = this.#simulation.storeNow + ALONE_LEASES * this.#simulation.case.settings.leaseMs;
    const wasIdle = ![...before.values()].some((row) => row.owner === worker.engineId && isWorking(row));
    this.#held.set(worker.engineId, { runId: lone.id, until, wasIdle });
  }

  /** Without faults, an idle worker that claimed a lone suspect starts no other body until the suspect made progress. */
  bodyStarts(worker: SimProcess, { runId }: Execution): void {
    const held = this.#loneOf(worker, (id) => this.#monitor.expectedRuns.get(id)?.row);
    if (held?.wasIdle === true && held.runId !== runId)
      this.#violate(`${worker.name} executes run ${runId} beside run ${held.runId}, which lost its worker alone`);
  }

  #checkBeside(worker: SimProcess, before: ReadonlyMap<string, Run>): void {
    const held = this.#loneOf(worker, (id) => before.get(id));
    if (held !== null)
      this.#violate(`${worker.name} claimed runs beside run ${held.runId}, which lost its worker alone`);
  }

  #checkGroup(runs: readonly ClaimedRun[], before: ReadonlyMap<string, Run>): void {
    const group = runs.filter(({ isSuspect }) => isSuspect);
    if (group.length === 1) return;
    const counted = group.find(({ id, claims }) => claims > (before.get(id)?.claims ?? claims));
    if (counted !== undefined) this.#violate(`the claim of run ${counted.id} counts, although it was beside suspects`);
  }

  /** The rollbacks of a poisoned run may crash workers as its steps did, so the run stays a suspect until one has completed. */
  #checkPoisoned(run: Run): void {
    const stop = this.#monitor.expectedRuns.get(run.id)?.journal.at(-1);
    if (stop?.kind !== "compensate" || stop.detail !== "failed") return;
    const { code } = JSON.parse(stop.payload ?? "{}") as { readonly code?: string };
    if (code === "POISONED" && run.claims < SUSPECT_CLAIMS)
      this.#violate(`run ${run.id} is claimed to compensate, and is no suspect`);
  }

  /** The lone suspect that the worker executes alone. Null if there is none, or if faults may have made the worker forget it. */
  #loneOf(worker: SimProcess, rowOf: (runId: string) => Run | undefined): Held | null {
    const { storeNow, case: plan } = this.#simulation;
    const held = this.#held.get(worker.engineId);
    if (held === undefined || storeNow >= held.until || !crashesInBodiesOnly(plan)) return null;
    const row = rowOf(held.runId);
    if (row?.owner !== worker.engineId || row.claims <= SUSPECT_CLAIMS + 1) return null;
    const newest = this.#monitor.expectedRuns.get(row.id)?.journal.at(-1)?.seq ?? 0;
    return newest > row.claimSeq ? null : held;
  }

  #violate(text: string): void {
    this.#monitor.violate("poison", text);
  }
}

function isWorking({ status, wait }: Run): boolean {
  return status === "running" || (status === "compensating" && wait === null);
}
