import type { RunHead } from "../../rules/tables.ts";
import type { KvDriver } from "./kv-driver.ts";

/** When a run must be executed again. `working`: a worker owns it, so the alarm is set one lease ahead, in case the process dies. */
type Need = number | "working";

const LEASE_MS = 15_000;

/** Computes when a namespace must be opened again, and keeps the host's alarm at that time. */
export class Alarm {
  /** How long after the last commit a worker that executes a run counts as alive. */
  leaseMs = LEASE_MS;
  readonly #driver: KvDriver;
  readonly #runId: string;
  readonly #needs = new Map<string, Need>();
  /** The earliest time in `#needs`. Null if there is none, undefined if it must be computed. */
  #earliest: number | null | undefined = null;
  #working = 0;
  /** The time that the host's alarm is set to. Null if it is cleared, undefined if it is unknown. */
  #setAt: number | null | undefined;

  constructor(driver: KvDriver, runId: string) {
    this.#driver = driver;
    this.#runId = runId;
  }

  /** Whether a worker is executing a run. */
  get isWorking(): boolean {
    return this.#working > 0;
  }

  /** Discards everything that is known about runs and the host's alarm. */
  forget(): void {
    this.#needs.clear();
    this.#earliest = null;
    this.#working = 0;
    this.#setAt = undefined;
  }

  update(runId: string, head: RunHead | null): void {
    const before = this.#needs.get(runId);
    const need = head === null ? null : needOf(head);
    if (before === "working") this.#working -= 1;
    if (need === "working") this.#working += 1;
    if (typeof before === "number" && before === this.#earliest && need !== before) this.#earliest = undefined;
    if (need === null) this.#needs.delete(runId);
    else this.#needs.set(runId, need);
    if (typeof need !== "number" || this.#earliest === undefined) return;
    if (this.#earliest === null || need < this.#earliest) this.#earliest = need;
  }

  /** Call it before a batch. Moves the alarm to an earlier time if the batch requires it. */
  async beforeWrite(now: number): Promise<void> {
    const at = this.at(now);
    if (at !== null && (this.#setAt === undefined || this.#setAt === null || at < this.#setAt)) await this.#move(at);
  }

  /** Call it after a batch. Moves the alarm to a later time or clears it. */
  async afterWrite(now: number): Promise<void> {
    const at = this.at(now);
    if (at !== this.#setAt) await this.#move(at);
  }

  async #move(at: number | null): Promise<void> {
    this.#setAt = undefined;
    if (at === null) await this.#driver.clearAlarm(this.#runId);
    else await this.#driver.setAlarm(this.#runId, at);
    this.#setAt = at;
  }

  at(now: number): number | null {
    this.#earliest ??= this.#findEarliest();
    const lease = this.#working === 0 ? null : this.#leaseAt(now);
    if (lease === null) return this.#earliest;
    return this.#earliest === null ? lease : Math.min(lease, this.#earliest);
  }

  /** The alarm of a working run is moved at most three times per lease, not with every commit. */
  #leaseAt(now: number): number {
    const at = now + this.leaseMs;
    const isFresh = typeof this.#setAt === "number" && this.#setAt <= at && this.#setAt > at - this.leaseMs / 3;
    return isFresh ? (this.#setAt ?? at) : at;
  }

  #findEarliest(): number | null {
    let earliest: number | null = null;
    for (const need of this.#needs.values()) {
      if (typeof need === "number" && (earliest === null || need < earliest)) earliest = need;
    }
    return earliest;
  }
}

function needOf({ wakeAt, owner, status }: RunHead): Need | null {
  if (wakeAt !== null) return wakeAt;
  return owner !== null && (status === "running" || status === "compensating") ? "working" : null;
}
