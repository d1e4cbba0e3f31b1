import type { KvDriver } from "../../store/kv/kv-driver.ts";
import type { Expect } from "../store-contract/harness.ts";

/** A driver under test, over a namespace that nothing else uses. */
export interface DriverSubject {
  readonly driver: KvDriver;
  /** The driver of another namespace in the same database. Omit it if the database has only one namespace. */
  readonly neighbour?: KvDriver;
  /** Opens the same namespace as a new process would. Omit it if no data outlives the process. */
  readonly reopen?: () => Promise<KvDriver>;
  /** Returns the time of the alarm of the namespace, or null if no alarm is set. Omit it if the time cannot be read. */
  readonly alarm?: () => Promise<number | null>;
  readonly dispose?: () => Promise<void>;
}

export type DriverFactory = () => Promise<DriverSubject>;

export interface DriverCase {
  readonly name: string;
  run(subject: DriverSubject, expect: Expect): Promise<void>;
}

const TEXT = new TextEncoder();

export function bytes(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values);
}

export function text(value: string): Uint8Array {
  return TEXT.encode(value);
}

/** The keys and values under a prefix, as arrays of numbers. */
export async function listed(
  driver: KvDriver,
  prefix: Uint8Array,
): Promise<readonly (readonly (readonly number[])[])[]> {
  const entries = await driver.list(prefix);
  return entries.map(({ key, value }) => [[...key], [...value]]);
}
