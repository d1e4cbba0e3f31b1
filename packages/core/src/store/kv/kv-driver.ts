/** A key and what lies under it. */
export interface KvEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** One change of a batch; null removes the key. */
export interface KvWrite {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/**
 * The storage of one run, as a host gives it: sorted keys that nobody else has, and an alarm. `driverContract` of
 * `pawl/testing` tries one.
 *
 * 1. Who calls has the namespace for itself: one process, one writer.
 * 2. `batch` is atomic and durable: when it resolves, all of it is there for ever; when it rejects, or the process dies
 *    before, all of it is there or nothing.
 * 3. `list` gives what begins with exactly these bytes, in byte order of the keys; `deletePrefix` removes exactly that.
 * 4. An alarm that is set outlives the process. When its time has come the host runs the workflow again, or calls `wake` of the
 *    handle it has. Setting it again moves it.
 */
export interface KvDriver {
  get(key: Uint8Array): Promise<Uint8Array | null>;
  set(key: Uint8Array, value: Uint8Array): Promise<void>;
  delete(key: Uint8Array): Promise<void>;
  deletePrefix(prefix: Uint8Array): Promise<void>;
  list(prefix: Uint8Array): Promise<readonly KvEntry[]>;
  batch(writes: readonly KvWrite[]): Promise<void>;
  /** Epoch ms. A host that schedules many runs knows by the id which one is meant. */
  setAlarm(runId: string, at: number): Promise<void>;
  clearAlarm(runId: string): Promise<void>;
}
