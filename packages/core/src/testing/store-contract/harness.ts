import type { Store } from "../../store/store.ts";

/** The part of a test runner that the suite needs; vitest, jest and `node:test` with an expect library all have it. */
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

/** A store to try, over data of its own that nothing else uses. */
export interface ContractSubject {
  /** Not opened yet. */
  readonly store: Store;
  /** Another store over the same data, not opened yet, as another process would have it. Left out where there is none. */
  readonly another?: () => Store;
  /** Called at the end, after the stores are closed. */
  readonly dispose?: () => Promise<void>;
}

export type StoreFactory = () => Promise<ContractSubject>;
