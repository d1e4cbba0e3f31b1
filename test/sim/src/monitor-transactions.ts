import type { AppliedCall } from "./applied-call.ts";
import type { Execution } from "./interpreter-frame.ts";
import { generationOf } from "./program.ts";
import type { ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** The key of a transaction's counter in the store. */
export function transactionKey(runId: string, generation: number, location: string): string {
  return `${runId}|${generation}|${location}`;
}

/** The writes of a transaction commit with its record, once for each record, or not at all. */
export class TransactionMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  /** The number of commits of each transaction. */
  readonly #counts = new Map<string, number>();

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  /** The store calls a body after its guards: the worker owns the run, and the counter equals the committed count. */
  called(
    worker: SimProcess,
    execution: Execution,
    { key, location, count }: { readonly key: string; readonly location: string; readonly count: number },
  ): void {
    const expectedRun = this.#monitor.expectedRuns.get(execution.runId);
    const transaction = `the transaction ${location} of run ${execution.runId}`;
    // The last owner of a freed run may append until the run is claimed.
    const owner = expectedRun?.row.owner ?? expectedRun?.lastOwner.owner;
    if (owner !== worker.engineId)
      this.#monitor.violate("I2", `the store called ${transaction} for ${worker.name}; the owner is ${owner}`);
    if (expectedRun?.doneBy.has(location))
      this.#monitor.violate("I3", `${transaction} was called although it is completed`);
    if (count !== (this.#counts.get(key) ?? 0))
      this.#monitor.violate(
        "transaction",
        `${transaction} read the count ${count}; it was committed ${this.#counts.get(key) ?? 0} times`,
      );
  }

  check({ batch, commit }: Extract<AppliedCall, { kind: "commit" }>): void {
    for (const [index, transition] of batch.entries()) {
      const answer = commit.answers[index];
      if (transition.kind !== "append" || answer?.kind !== "applied" || answer.again) continue;
      for (const { kind, outcome, location } of transition.records) {
        if (kind !== "transaction" || outcome !== "ok") continue;
        const row = this.#monitor.expectedRuns.get(transition.runId)?.row;
        if (row === undefined) continue;
        const key = transactionKey(row.id, generationOf(row), location);
        this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
      }
    }
    const { data } = this.#simulation.store;
    for (const [key, count] of data) this.#compare(key, Number(count));
    for (const key of this.#counts.keys()) if (!data.has(key)) this.#compare(key, 0);
  }

  #compare(key: string, count: number): void {
    const expected = this.#counts.get(key) ?? 0;
    if (count !== expected)
      this.#monitor.violate("transaction", `${key} has the count ${count}; its record was committed ${expected} times`);
  }
}
