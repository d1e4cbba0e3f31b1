import type { Status } from "../model/run.ts";
import type { Worker } from "../worker/worker.ts";

export interface RecoveryReport {
  /** Runs freed from workers whose lease expired. */
  readonly freed: number;
  /** Runs that this worker claimed. */
  readonly claimed: number;
  /** Runs of this worker that were due. */
  readonly due: number;
  /** Open runs in the store, by status. */
  readonly open: Readonly<
    Record<Extract<Status, "pending" | "running" | "suspended" | "paused" | "compensating">, number>
  >;
}

export async function recoverNow(worker: Worker): Promise<RecoveryReport> {
  const counts = await worker.recover();
  const [pending = 0, running = 0, suspended = 0, paused = 0, compensating = 0] = await Promise.all(
    (["pending", "running", "suspended", "paused", "compensating"] as const).map((status) =>
      worker.reader.count({ status: [status] }),
    ),
  );
  return { ...counts, open: { pending, running, suspended, paused, compensating } };
}
