import type { AppendOp } from "../model/op.ts";
import type { ClaimedRun, OwnedRun, SuspectLimit } from "../rules/tables.ts";
import type { Clock } from "../runtime/clock.ts";
import type { SuspectClaims } from "./claims.ts";
import type { SessionPool } from "./session-pool.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A run that lost its worker so often without progress, beside others, is a suspect: it may crash its worker. */
export const SUSPECT_CLAIMS = 2;

/** How many leases a lone suspect executes alone without progress. Then other runs start beside it. */
const ALONE_LEASES = 2;

/** How many leases suspects are skipped by a worker that is never idle. Then a lone suspect is executed beside the others. */
const SKIPPED_LEASES = 10;

const NONE: ReadonlySet<string> = new Set();

export interface SuspectGroupParts {
  readonly sessions: Pick<SessionPool, "admitOnly">;
  /** Whether this worker executes no run, and no event that it has received makes it execute one. */
  readonly isIdle: () => boolean;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly events: Pick<WorkerEvents, "onSuspectsCleared">;
}

/**
 * The suspects that this worker executes: one group at a time.
 *
 * 1. The next group is claimed when every suspect of the group made progress or left. A place that becomes free earlier is taken by
 *    another suspect, so a long step does not hold back the others, and the group never grows.
 * 2. A suspect that lost its worker when it was alone is a lone suspect. It is claimed when this worker executes nothing else, and no other
 *    run gets a slot until it made progress or left. So no run is blamed for another.
 * 3. Neither waits without end. After two leases, other runs start beside a lone suspect, but none that lost a worker before. A worker
 *    that skipped suspects for ten leases, and was never idle when it claimed, claims a lone suspect all the same.
 */
export class SuspectGroup implements SuspectClaims {
  readonly #parts: SuspectGroupParts;
  readonly #suspects = new Set<string>();
  /** The number of suspects with which the group began. */
  #size = 0;
  /** Those that the last list of owned runs did not contain. */
  #missing: ReadonlySet<string> = NONE;
  #lone: string | null = null;
  #cancelTimer: (() => void) | null = null;
  /** Since when this worker skips suspects. Null if it skipped none. */
  #skippedSince: number | null = null;

  constructor(parts: SuspectGroupParts) {
    this.#parts = parts;
  }

  /** Whether this worker could claim a lone suspect that it skipped. */
  get isReady(): boolean {
    return this.#skippedSince !== null && this.#suspects.size === 0 && this.#parts.isIdle();
  }

  get limit(): SuspectLimit {
    const held = this.#suspects.size;
    if (this.#lone !== null) return { claims: 1, held, max: 0, idle: false };
    return { claims: SUSPECT_CLAIMS, held, max: held === 0 ? null : Math.max(0, this.#size - held), idle: false };
  }

  /** No run gets a slot until `claimEnded`, if the claim may return a lone suspect. */
  claimStarts(): SuspectLimit {
    const idle = this.isReady || this.#isOverdue();
    if (idle) this.#parts.sessions.admitOnly(NONE);
    return { ...this.limit, idle };
  }

  claimEnded({ idle }: SuspectLimit): void {
    if (idle && this.#lone === null) this.#parts.sessions.admitOnly(null);
  }

  /** A claim with room for more skipped runs that were due, or skipped none. A lone suspect may be one of them. */
  skipped(some: boolean): void {
    if (some === (this.#skippedSince !== null)) return;
    this.#skippedSince = some ? this.#parts.clock.now() : null;
    if (this.isReady) this.#parts.events.onSuspectsCleared();
  }

  add(runs: readonly ClaimedRun[]): void {
    const [first] = runs;
    if (this.#suspects.size === 0 && first !== undefined) {
      this.#size = runs.length;
      // The first claim in which a run is alone is its third.
      if (runs.length === 1 && first.claims > SUSPECT_CLAIMS + 1) this.#keepAlone(first.id);
    }
    for (const { id } of runs) this.#suspects.add(id);
    if (runs.length > 0) this.#missing = NONE;
  }

  /** A run that only changed its waits made no progress: the store still counts its claims. */
  committed({ runId, records, state }: AppendOp): void {
    if (records.length > 0 || (state !== null && state.status !== "running")) this.remove(runId);
  }

  /** The run made progress, or left this worker. */
  remove(runId: string): void {
    // Called at each commit of each run; there is hardly ever a suspect.
    if (this.#suspects.size === 0 || !this.#suspects.delete(runId)) return;
    if (this.#lone === runId) {
      this.#lone = null;
      this.#admitAll();
    }
    const held = this.#suspects.size;
    if (held === 0 || held === this.#size >> 1) this.#parts.events.onSuspectsCleared();
  }

  /** Removes the suspects that the store lists as owned neither now nor before. One such list may be older than the claim. */
  keep(owned: readonly OwnedRun[]): void {
    if (this.#suspects.size === 0) return;
    const ids = new Set(owned.map(({ id }) => id));
    const missing = [...this.#suspects].filter((runId) => !ids.has(runId));
    const before = this.#missing;
    this.#missing = new Set(missing);
    for (const runId of missing) if (before.has(runId)) this.remove(runId);
  }

  #isOverdue(): boolean {
    const now = this.#parts.clock.now();
    if (this.#skippedSince === null || this.#suspects.size > 0) return false;
    if (now < this.#skippedSince + SKIPPED_LEASES * this.#parts.leaseMs) return false;
    this.#skippedSince = now;
    return true;
  }

  #keepAlone(runId: string): void {
    const { sessions, clock, leaseMs, events } = this.#parts;
    this.#lone = runId;
    sessions.admitOnly(new Set([runId]));
    this.#cancelTimer = clock.wakeAt(clock.now() + ALONE_LEASES * leaseMs, () => {
      this.#admitAll();
      events.onSuspectsCleared();
    });
  }

  #admitAll(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#parts.sessions.admitOnly(null);
  }
}
