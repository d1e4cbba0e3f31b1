import { type Evidence, grouped, linesOf } from "./evidence.ts";

/** A time in which a process may have lost its runs. */
export interface Loss {
  readonly from: number;
  readonly until: number;
  readonly why: "lapse" | "shutdown";
}

/**
 * When each process may have lost its runs: from the end of a lease that it did not renew until it hears of it, and from the
 * moment it is asked to end. A process that was killed or stopped renews nothing, so no signal is looked at: whatever the
 * reason, without a lapse a worker owns what it owns.
 *
 * A lease runs from the store's clock in the middle of a heartbeat. The time before the call is taken, so that a lapse begins
 * here no later than it did; all processes share one machine's clock.
 */
export function lossesByProcess(evidence: Evidence): ReadonlyMap<string, readonly Loss[]> {
  const losses = new Map<string, Loss[]>();
  for (const [process, beats] of grouped(linesOf(evidence, "beat"), (line) => line.process)) {
    losses.set(
      process,
      beats.flatMap((beat, index): readonly Loss[] => {
        const from = beat.sentAt + evidence.leaseMs;
        const until = beats[index + 1]?.at ?? Number.POSITIVE_INFINITY;
        return from <= until ? [{ from, until, why: "lapse" }] : [];
      }),
    );
  }
  for (const { process, signal, at } of linesOf(evidence, "signal")) {
    if (signal !== "SIGTERM") continue;
    losses.set(process, [
      ...(losses.get(process) ?? []),
      { from: at, until: Number.POSITIVE_INFINITY, why: "shutdown" },
    ]);
  }
  return losses;
}
