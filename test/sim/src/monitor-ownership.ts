import type { Run } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { isDeadWorker } from "./dead-processes.ts";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import type { ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** Checks how a row may change between two reads, after any call. */
export function checkRow(monitor: ExpectedState, old: Run, row: Run, isReopened: boolean): void {
  if (row.epoch < old.epoch)
    monitor.violate("I2", `run ${row.id}: the epoch decreased from ${old.epoch} to ${row.epoch}`);
  checkOwner(monitor, row);
  if (hasEnded(old) && !isReopened) {
    const same =
      row.status === old.status &&
      row.outcome === old.outcome &&
      row.endedAt === old.endedAt &&
      row.epoch === old.epoch;
    if (!same)
      monitor.violate(
        "I6",
        `run ${row.id} was ${old.status} and became ${row.status}, epoch ${old.epoch} → ${row.epoch}`,
      );
  }
  if (hasEnded(row) && (row.owner !== null || row.wakeAt !== null || row.wait !== null)) {
    monitor.violate("I6", `run ${row.id} is ${row.status}, but has an owner, a wake-up time or a wait`);
  }
}

/** I2: an epoch has at most one owner. A freed run may return to its owner in the same epoch. */
function checkOwner(monitor: ExpectedState, { id, owner, epoch }: Run): void {
  const expectedRun = monitor.expectedRuns.get(id);
  if (expectedRun === undefined || owner === null) return;
  const { lastOwner } = expectedRun;
  if (lastOwner.epoch === epoch && lastOwner.owner !== null && lastOwner.owner !== owner)
    monitor.violate("I2", `run ${id}: owner ${lastOwner.owner} → ${owner} in epoch ${epoch}`);
  expectedRun.lastOwner = { owner, epoch };
}

/** Tracks which leases are valid by the store's clock, and checks how each call changes the owners of runs. */
export class LeaseMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  readonly #expiry = new Map<string, number>();

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  check(worker: SimProcess, applied: AppliedCall, before: ReadonlyMap<string, Run>, rows: readonly Run[]): void {
    switch (applied.kind) {
      case "commit":
      case "prune":
        return;
      case "claim":
        this.#claimed(worker, applied.runs, before);
        return;
      case "heartbeat":
        this.#heartbeat(worker, applied, before, rows);
        return;
      case "retire":
        this.#expiry.delete(applied.retired);
        if (applied.retired !== worker.engineId && !isDeadWorker(this.#simulation, applied.retired))
          this.#monitor.violate("lease", `${worker.name} ended the worker ${applied.retired}, whose process exists`);
        for (const row of rows) {
          if (row.owner === applied.retired)
            this.#monitor.violate("I5", `run ${row.id} is owned by ${row.owner}, which has shut down`);
        }
    }
  }

  #claimed(worker: SimProcess, runs: readonly Run[], before: ReadonlyMap<string, Run>): void {
    const now = this.#simulation.storeNow;
    for (const run of runs) {
      const old = before.get(run.id);
      if (old === undefined) continue;
      const expectedRun = this.#monitor.expectedRuns.get(run.id);
      if (expectedRun !== undefined) expectedRun.claimsMost = Math.max(expectedRun.claimsMost, run.claims);
      const free = old.owner === null && !hasEnded(old) && (old.status !== "paused" || isCancelled(expectedRun));
      if (!free)
        this.#monitor.violate(
          "I2",
          `run ${run.id} was claimed by ${worker.name} while ${old.status} and owned by ${old.owner}`,
        );
      if (old.wakeAt === null || old.wakeAt > now) {
        this.#monitor.violate(
          "due",
          `run ${run.id} was claimed by ${worker.name} before it was due (${old.wakeAt}, now ${now})`,
        );
      }
      if (run.epoch !== old.epoch + 1)
        this.#monitor.violate("I2", `run ${run.id}: a claim changed the epoch from ${old.epoch} to ${run.epoch}`);
    }
  }

  #heartbeat(
    worker: SimProcess,
    applied: Extract<AppliedCall, { kind: "heartbeat" }>,
    before: ReadonlyMap<string, Run>,
    rows: readonly Run[],
  ): void {
    const now = this.#simulation.storeNow;
    const id = worker.engineId;
    const alive = (this.#expiry.get(id) ?? Number.NEGATIVE_INFINITY) > now;
    if (applied.answer.alive !== alive) {
      this.#monitor.violate(
        "lease",
        `the heartbeat of ${worker.name} returned alive=${applied.answer.alive}; by its lease it is ${alive}`,
      );
    }
    for (const row of rows) {
      const old = before.get(row.id);
      if (old === undefined || row.owner === old.owner) continue;
      const { owner } = old;
      if (row.owner !== null && (row.owner !== id || row.epoch !== old.epoch))
        this.#monitor.violate("I2", `a heartbeat of ${worker.name} made ${row.owner} the owner of run ${row.id}`);
      const expired = owner === null || (this.#expiry.get(owner) ?? Number.NEGATIVE_INFINITY) <= now;
      if (!expired || owner === id)
        this.#monitor.violate("lease", `run ${row.id} was freed although the lease of its owner ${owner} is valid`);
    }
    // Expired workers are removed, so that a clock that jumps back does not make them valid again.
    for (const [other, expiry] of this.#expiry) if (expiry <= now) this.#expiry.delete(other);
    this.#expiry.set(id, now + applied.leaseMs);
  }
}

/** A paused run is claimed to be cancelled. */
function isCancelled(expectedRun: ExpectedRun | undefined): boolean {
  const entries = [...(expectedRun?.inbox.values() ?? [])];
  return entries.some(({ kind, id }) => kind === "cancel" && !id.startsWith("pause:"));
}
