import type { Store } from "../../store/store.ts";

/** The part of a test runner that the suite needs. vitest, jest, and `node:test` with an expect library all provide it. */
export interface Harness {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>, timeoutMs?: number): void;
  expect: Expect;
}

export type Expect = (actual: unknown) => {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
};

/** A store under test, over data that nothing else uses. */
export interface ContractSubject {
  /** Must not be open yet. */
  readonly store: Store;
  /** Creates another store over the same data, not open yet, as another process would. Omit it if the data cannot be shared. */
  readonly another?: () => Store;
  /** Called at the end, after the stores are closed. */
  readonly dispose?: () => Promise<void>;
}

export type StoreFactory = () => Promise<ContractSubject>;
