import type { RunHead } from "../../rules/tables.ts";
import type { KvDriver } from "./kv-driver.ts";

/** Somebody works on the run: it is to be looked at when it seems that nobody does any more. */
type Need = number | "working";

const LEASE_MS = 15_000;

/** When somebody has to look at a namespace, and what the host was told of it. */
export class Alarm {
  /** How long after its last sign of life a process that works on a run is taken for dead. */
  leaseMs = LEASE_MS;
  readonly #driver: KvDriver;
  readonly #runId: string;
  readonly #needs = new Map<string, Need>();
  /** The earliest of the needs that are times; null: none is; undefined: it has to be looked for. */
  #earliest: number | null | undefined = null;
  #working = 0;
  /** What the host was told last; undefined: it may have been told anything. */
  #set: number | null | undefined;

  constructor(driver: KvDriver, runId: string) {
    this.#driver = driver;
    this.#runId = runId;
  }

  /** Whether somebody has a run in its hands. */
  get isWorking(): boolean {
    return this.#working > 0;
  }

  /** What is known of rows and host counts no more. */
  forget(): void {
    this.#needs.clear();
    this.#earliest = null;
    this.#working = 0;
    this.#set = undefined;
  }

  note(runId: string, head: RunHead | null): void {
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

  /** An earlier time than the host knows has to be known to it before it is needed. */
  async before(now: number): Promise<void> {
    const at = this.at(now);
    if (at !== null && (this.#set === undefined || this.#set === null || at < this.#set)) await this.#tell(at);
  }

  /** A later one, or none, when it is sure that the earlier is not needed. */
  async after(now: number): Promise<void> {
    const at = this.at(now);
    if (at !== this.#set) await this.#tell(at);
  }

  async #tell(at: number | null): Promise<void> {
    this.#set = undefined;
    if (at === null) await this.#driver.clearAlarm(this.#runId);
    else await this.#driver.setAlarm(this.#runId, at);
    this.#set = at;
  }

  at(now: number): number | null {
    this.#earliest ??= this.#findEarliest();
    const lease = this.#working === 0 ? null : this.#leaseAt(now);
    if (lease === null) return this.#earliest;
    return this.#earliest === null ? lease : Math.min(lease, this.#earliest);
  }

  /** The host is told three times a lease at most, not with each commit. */
  #leaseAt(now: number): number {
    const at = now + this.leaseMs;
    const isFresh = typeof this.#set === "number" && this.#set <= at && this.#set > at - this.leaseMs / 3;
    return isFresh ? (this.#set ?? at) : at;
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
