import { durationText } from "../model/duration.ts";
import type { RunFacts } from "../model/run.ts";
import type { Log } from "../runtime/log.ts";

/** A step that blocked the event loop of this worker. */
export interface BlockedStep {
  readonly run: string;
  readonly location: string;
  readonly ms: number;
}

export interface BlockedStepsParts {
  readonly leaseMs: number;
  readonly log: Log;
  /** The steps that are running, as fields of a log line. */
  readonly runningSteps: () => readonly { readonly run: string; readonly location: string }[];
}

/** A block of this share of the lease is logged: a heartbeat was late. */
const LEASE_SHARE = 1 / 3;

/** Steps kept. The oldest is forgotten. */
const STEPS_MAX = 1_000;

/** Running steps in one log line. */
const RUNNING_MAX = 3;

const STEP_TEXT = "event loop blocked by a step; move its work to a worker thread";
const UNKNOWN_TEXT = "event loop blocked or process stopped; move long computations to a worker thread";

/**
 * Steps that blocked the event loop of this worker for so long that heartbeats were late.
 *
 * 1. A step is logged once, with its run, its location and the duration. A block that no step is known for is logged with the running
 *    steps, again only if it is twice as long.
 * 2. If the lease expired because of a known step, the other runs of this worker are blameless.
 */
export class BlockedSteps {
  readonly #parts: BlockedStepsParts;
  readonly #byRun = new Map<string, BlockedStep>();
  readonly #logged = new Set<string>();
  /** Runs whose steps blocked since the lease was last renewed. */
  readonly #sinceRenewal = new Set<string>();
  #unknownMs = 0;
  /** The cause of the last expiry of the lease, as far as it is known. */
  #lapseCause: BlockedStep | null = null;

  constructor(parts: BlockedStepsParts) {
    this.#parts = parts;
  }

  /** The code of a step returned after `ms`. */
  onReturned({ id, workflow }: Pick<RunFacts, "id" | "workflow">, location: string, ms: number): void {
    const { leaseMs, log } = this.#parts;
    if (ms < leaseMs * LEASE_SHARE) return;
    const step = { run: id, location, ms };
    this.#byRun.delete(id);
    this.#byRun.set(id, step);
    this.#sinceRenewal.add(id);
    dropOldest(this.#byRun);
    const key = JSON.stringify([workflow, location]);
    if (this.#logged.has(key)) return;
    this.#logged.add(key);
    dropOldest(this.#logged);
    log("warn", STEP_TEXT, { ...step, leaseMs });
  }

  /** A timer of the worker was called `ms` late. */
  onTimerLate(ms: number): void {
    const { leaseMs, log, runningSteps } = this.#parts;
    if (ms < leaseMs * LEASE_SHARE || this.#sinceRenewal.size > 0 || ms < 2 * this.#unknownMs) return;
    this.#unknownMs = ms;
    log("warn", UNKNOWN_TEXT, { ms, leaseMs, running: runningSteps().slice(0, RUNNING_MAX) });
  }

  /** The store acknowledged a heartbeat. `alive` is false if the lease had expired. */
  onRenewed(alive: boolean): void {
    if (!alive) this.#lapseCause = this.#sinceRenewal.size === 0 ? null : this.lapseCause;
    this.#sinceRenewal.clear();
  }

  /** Whether another run is known to have blocked the event loop since the lease was last renewed. */
  isBlameless(runId: string): boolean {
    return this.#sinceRenewal.size > 0 && !this.#sinceRenewal.has(runId);
  }

  /** The step because of which the lease expired, or may have expired. Null if it is not known. */
  get lapseCause(): BlockedStep | null {
    let cause = this.#lapseCause;
    for (const runId of this.#sinceRenewal) cause = this.#byRun.get(runId) ?? cause;
    return cause;
  }

  /** The step of a run that blocked last, if it blocked for longer than the lease. */
  ofRun(runId: string): BlockedStep | null {
    const step = this.#byRun.get(runId);
    return step !== undefined && step.ms >= this.#parts.leaseMs ? step : null;
  }
}

/** Describes a step, as a part of an error message. */
export function blockedText({ run, location, ms }: BlockedStep): string {
  return `step ${location} of run ${run} blocked the event loop for ${durationText(ms)}`;
}

function dropOldest(items: Map<string, unknown> | Set<string>): void {
  if (items.size <= STEPS_MAX) return;
  for (const key of items.keys()) {
    items.delete(key);
    return;
  }
}
