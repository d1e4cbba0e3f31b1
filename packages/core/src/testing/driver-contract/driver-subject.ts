import type { KvDriver } from "../../store/kv/kv-driver.ts";
import type { Expect } from "../store-contract/harness.ts";

/** A driver to try, over a namespace of its own. */
export interface DriverSubject {
  readonly driver: KvDriver;
  /** The driver of another namespace beside it. Left out where there is none. */
  readonly neighbour?: KvDriver;
  /** The same namespace as a process has it that has just begun. Left out where nothing outlives the process. */
  readonly reopen?: () => Promise<KvDriver>;
  /** When the namespace's alarm is set for; null: it is not. Left out where it can't be seen. */
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

/** What is under a prefix, as plain numbers. */
export async function listed(
  driver: KvDriver,
  prefix: Uint8Array,
): Promise<readonly (readonly (readonly number[])[])[]> {
  const entries = await driver.list(prefix);
  return entries.map(({ key, value }) => [[...key], [...value]]);
}
