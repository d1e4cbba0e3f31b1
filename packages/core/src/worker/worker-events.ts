import type { PawlError } from "../model/errors.ts";
import type { Run, RunFacts } from "../model/run.ts";
import type { ClaimedRun, OwnedRun } from "../rules/tables.ts";
import type { DueRun } from "../store/store.ts";

/**
 * The reports of a worker's parts. For each report the worker calls the parts that it concerns, so the parts know this interface instead
 * of each other.
 */
export interface WorkerEvents {
  /** The loop claimed these runs for this worker. */
  onClaimed(runs: readonly ClaimedRun[]): void;
  /** These runs of this worker are due: a deadline passed, or something arrived. */
  onDue(runs: readonly DueRun[]): void;
  /** The store returned the runs that this worker owns: at each heartbeat, and after a claim whose reply was lost. */
  onOwned(owned: readonly OwnedRun[]): void;
  /** The store acknowledged a heartbeat. `alive` is false if the lease had expired; `onLeaseLost` follows. */
  onRenewed(alive: boolean): void;
  /** A timer of the loop was called `ms` late. */
  onTimerLate(ms: number): void;
  /** The lease expired: any run may have another owner now. `onOwned` follows. */
  onLeaseLost(): void;
  /** The pool evicted a parked session. */
  onEvicted(runId: string): void;
  /** A slot is free, or no created run waits to start any more. */
  onFreed(): void;
  /** The loader discarded a session, because its run ended, has another owner, or could not be started. */
  onDiscarded(runId: string): void;
  /** The store refused a session's append: this worker does not own the run any more. */
  onRunLost(run: RunFacts, reason: string): void;
  /** The run crashed its workers more than `claimsMax` times. */
  onPoisoned(run: Run, error: unknown): void;
  /** The run's program cannot be created. */
  onUnloadable(run: Run, error: unknown): void;
  /** A payload that the run needs cannot be read with this worker's codec. */
  onUnreadable(run: Run, error: PawlError): void;
  /** The run's workflow, or its version, is not registered on this worker. */
  onUnknownWorkflow(run: Run): void;
  /** Suspects made progress or left this worker, or it is idle: others can be claimed. */
  onSuspectsCleared(): void;
  /** A store call failed with an error that no retry can cure: a bug, or a store that must not be used any more. The engine stops. */
  onFatalError(error: unknown): void;
}
