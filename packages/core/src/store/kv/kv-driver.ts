/** A key and its value. */
export interface KvEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** A change of a batch. A null value removes the key. */
export interface KvWrite {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/**
 * The storage of one run, provided by a host: sorted keys in an exclusive namespace, and an alarm. `driverContract` of `pawl/testing`
 * tests an implementation.
 *
 * 1. The caller has exclusive access to the namespace: one process, one writer.
 * 2. `batch` is atomic and durable. When it resolves, all changes are durable. When it rejects, or the process dies before, all or none
 *    are.
 * 3. `list` returns the keys that start with exactly these bytes, in byte order. `deletePrefix` removes exactly these keys.
 * 4. An alarm survives the process. When it fires, the host executes the workflow again, or calls `wake` of its handle. Setting an alarm
 *    replaces the previous one.
 */
export interface KvDriver {
  get(key: Uint8Array): Promise<Uint8Array | null>;
  set(key: Uint8Array, value: Uint8Array): Promise<void>;
  delete(key: Uint8Array): Promise<void>;
  deletePrefix(prefix: Uint8Array): Promise<void>;
  list(prefix: Uint8Array): Promise<readonly KvEntry[]>;
  batch(writes: readonly KvWrite[]): Promise<void>;
  /** `at` is in epoch ms. `runId` identifies the run for a host that schedules many. */
  setAlarm(runId: string, at: number): Promise<void>;
  clearAlarm(runId: string): Promise<void>;
}
