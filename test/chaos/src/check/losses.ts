import { type Evidence, grouped, linesOf } from "./evidence.ts";

/** A time in which a process may have lost its runs. */
export interface Loss {
  readonly from: number;
  readonly until: number;
  readonly why: "expired" | "shutdown" | "killed";
}

/**
 * The times in which each process may have lost its runs: from the expiry of its lease until it is notified, and from its shutdown or
 * its kill on: a worker that starts on the host frees it at once. A stop needs no entry, because a stopped process exists, and does not
 * renew its lease. A worker with a valid lease owns its runs.
 *
 * A lease starts at the store's time during a heartbeat. The time before the call is used here, so that a loss starts no later than
 * it did. All processes share the host's clock.
 */
export function lossesByProcess(evidence: Evidence): ReadonlyMap<string, readonly Loss[]> {
  const losses = new Map<string, Loss[]>();
  for (const [process, heartbeats] of grouped(linesOf(evidence, "heartbeat"), (line) => line.process)) {
    losses.set(
      process,
      heartbeats.flatMap((heartbeat, index): readonly Loss[] => {
        const from = heartbeat.sentAt + evidence.leaseMs;
        const until = heartbeats[index + 1]?.at ?? Number.POSITIVE_INFINITY;
        return from <= until ? [{ from, until, why: "expired" }] : [];
      }),
    );
  }
  for (const { process, signal, at } of linesOf(evidence, "signal")) {
    if (signal === "SIGSTOP" || signal === "SIGCONT") continue;
    const why = signal === "SIGKILL" ? "killed" : "shutdown";
    losses.set(process, [...(losses.get(process) ?? []), { from: at, until: Number.POSITIVE_INFINITY, why }]);
  }
  return losses;
}
