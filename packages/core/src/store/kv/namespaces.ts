import { checkRunId } from "../../model/names.ts";
import type { KvDriver } from "./kv-driver.ts";

/** An alarm of a run. */
export interface AlarmRow {
  readonly runId: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Storage for many runs: a namespace for each, and the alarms of all. */
export interface Namespaces {
  /** Returns the driver of a run's namespace. Returns the same driver while it is referenced. */
  driver(runId: string): KvDriver;
  /** Returns all alarms, earliest first. */
  alarms(): Promise<readonly AlarmRow[]>;
}

/** Caches one driver per run while it is referenced. The driver identifies the namespace within the process. */
export class DriversByRun {
  readonly #drivers = new Map<string, WeakRef<KvDriver>>();
  readonly #create: (runId: string) => KvDriver;

  constructor(create: (runId: string) => KvDriver) {
    this.#create = create;
  }

  get(runId: string): KvDriver {
    const known = this.#drivers.get(checkRunId(runId))?.deref();
    if (known !== undefined) return known;
    for (const [id, reference] of this.#drivers) if (reference.deref() === undefined) this.#drivers.delete(id);
    const driver = this.#create(runId);
    this.#drivers.set(runId, new WeakRef(driver));
    return driver;
  }
}

export function earliestFirst(alarms: readonly AlarmRow[]): readonly AlarmRow[] {
  return [...alarms].sort((left, right) => left.at - right.at || (left.runId < right.runId ? -1 : 1));
}

/** Returns the first key after all keys with this prefix. Null if there is none. */
export function afterPrefix(prefix: Uint8Array): Uint8Array | null {
  const last = prefix.findLastIndex((byte) => byte !== 0xff);
  if (last < 0) return null;
  const after = prefix.slice(0, last + 1);
  after[last] = (after[last] ?? 0) + 1;
  return after;
}
