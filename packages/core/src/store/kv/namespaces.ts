import type { KvDriver } from "./kv-driver.ts";

/** An alarm that is set. */
export interface AlarmRow {
  readonly runId: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Storage for many runs: a namespace for each, and the alarms of all. */
export interface Namespaces {
  /** The namespace of a run; the same driver each time, while somebody has it. */
  driver(runId: string): KvDriver;
  /** The alarms that are set, the earliest first. */
  alarms(): Promise<readonly AlarmRow[]>;
}

/** One driver a run, for as long as somebody has it: who works on a namespace is known by its driver. */
export class DriversByRun {
  readonly #drivers = new Map<string, WeakRef<KvDriver>>();
  readonly #create: (runId: string) => KvDriver;

  constructor(create: (runId: string) => KvDriver) {
    this.#create = create;
  }

  get(runId: string): KvDriver {
    const known = this.#drivers.get(runId)?.deref();
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

/** The first key after all that begin with these bytes; null: there is none. */
export function afterPrefix(prefix: Uint8Array): Uint8Array | null {
  const last = prefix.findLastIndex((byte) => byte !== 0xff);
  if (last < 0) return null;
  const after = prefix.slice(0, last + 1);
  after[last] = (after[last] ?? 0) + 1;
  return after;
}
