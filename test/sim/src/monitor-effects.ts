import type { Heartbeat, Run } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import type { Execution } from "./interpreter-frame.ts";
import { undoneStep } from "./monitor-compensation.ts";
import { generationOf, type StepNode } from "./program.ts";
import type { BodyStart, ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** The state that the code's process had loaded when the execution started. */
interface KnownState {
  readonly epoch: number;
  readonly done: ReadonlySet<string>;
}

/** The maximum error of a worker's estimate of the store's clock. */
const ESTIMATE_MS_MAX = 50;
/** Attempts of a crashing body beyond `claimsMax`: one of the first owner, and one for each claim with progress. */
const POISON_EXTRA = 6;

/** Checks I3 and `Session.1`: when a step body may start. */
export class EffectsMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  readonly #knownStates = new Map<Execution, KnownState>();
  /** The worker that started a body last, by run, generation, location and attempt. */
  readonly #lastStarts = new Map<string, { readonly worker: SimProcess; readonly epoch: number }>();
  readonly #starts = new Map<string, number>();
  /** The steps that the last execution of each run has started. */
  readonly #started = new Map<string, { readonly execution: Execution; readonly locations: Set<string> }>();
  /** The epochs of runs at each heartbeat whose answer reports an expired lease. */
  readonly #lostLeases = new WeakMap<Heartbeat, ReadonlyMap<string, number>>();
  /** The epochs at the last expired lease that each worker was notified of. */
  readonly #knownLosses = new Map<SimProcess, ReadonlyMap<string, number>>();

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  executionStarts(worker: SimProcess, execution: Execution): void {
    this.#started.delete(execution.runId);
    const loaded = worker.loads.get(execution.runId);
    const records = [...(loaded?.records ?? [])];
    const done = new Set(records.filter((record) => record.kind !== "retry").map((record) => record.location));
    this.#knownStates.set(execution, { epoch: loaded?.run.epoch ?? 1, done });
  }

  /** A heartbeat was applied; `rows` is the state after it. */
  heartbeatApplied(answer: Heartbeat, rows: readonly Run[]): void {
    if (!answer.alive) this.#lostLeases.set(answer, new Map(rows.map(({ id, epoch }) => [id, epoch])));
  }

  heartbeatAnswered(worker: SimProcess, answer: Heartbeat): void {
    const epochs = this.#lostLeases.get(answer);
    if (epochs !== undefined) this.#knownLosses.set(worker, epochs);
  }

  bodyStarts(worker: SimProcess, execution: Execution, start: BodyStart): void {
    const { node, location, attempt } = start;
    const expectedRun = this.#monitor.expectedRuns.get(execution.runId);
    const known = this.#knownStates.get(execution);
    if (expectedRun === undefined || known === undefined) return;
    const attemptText = `${worker.name} starts ${location} of run ${execution.runId}, attempt ${attempt},`;
    if (known.done.has(location)) this.#monitor.violate("I3", `${attemptText} although it has loaded the completion`);
    const lost = undoneStep(location) === null ? execution.lost.find((scope) => location.startsWith(scope)) : undefined;
    if (lost !== undefined)
      this.#monitor.violate("race", `${attemptText} although the branch ${lost} has lost its race`);
    if ((this.#knownLosses.get(worker)?.get(execution.runId) ?? 0) > known.epoch)
      this.#monitor.violate("I2", `${attemptText} although it was notified that the run is lost`);
    if (attempt > node.maxAttempts) this.#monitor.violate("attempts", `${attemptText} of ${node.maxAttempts}`);
    this.#durable(expectedRun, execution.given.slice(0, start.given), execution.generation, { known, attemptText });
    const { row } = expectedRun;
    const current =
      row.epoch === known.epoch && row.owner === worker.engineId && generationOf(row) === execution.generation;
    if (current) this.#current(expectedRun, location, attempt, attemptText);
    if (current) this.#noteStarted(execution, location);
    if (current && row.version !== execution.version)
      this.#monitor.violate(
        "version",
        `${attemptText} with code of version ${execution.version}; the run has version ${row.version}`,
      );
    this.#once(worker, execution, {
      key: `${execution.runId}|${execution.generation}|${location}|${attempt}`,
      epoch: known.epoch,
      attemptText,
      node,
    });
  }

  /** I11: a rollback receives the value of its step. */
  undoes(execution: Execution, location: string, value: unknown): void {
    const record = this.#monitor.expectedRuns
      .get(execution.runId)
      ?.history.find((each) => each.location === location && each.kind === "step");
    if (record === undefined || record.payload !== JSON.stringify(value))
      this.#monitor.violate(
        "I11",
        `run ${execution.runId} rolls back ${location} with ${JSON.stringify(value)}; the recorded value is ${record?.payload}`,
      );
  }

  #noteStarted(execution: Execution, location: string): void {
    const { runId } = execution;
    if (this.#started.get(runId)?.execution !== execution)
      this.#started.set(runId, { execution, locations: new Set() });
    this.#started.get(runId)?.locations.add(location);
  }

  /**
   * `ProgramDriver.4`: a run that completes has recorded every step that its code started, awaited or not. Branches that lost a
   * `ctx.race`, and iterations of `ctx.loop`, abandon theirs.
   */
  runCompleted({ row, done, reopened }: ExpectedRun): void {
    const started = this.#started.get(row.id);
    const generation = generationOf(row);
    if (started === undefined || started.execution.generation !== generation || reopened > 0) return;
    for (const location of started.locations) {
      const isAbandoned = location.includes("/~") || started.execution.lost.some((scope) => location.startsWith(scope));
      if (isAbandoned || done.get(generation)?.has(location)) continue;
      this.#monitor.violate("ProgramDriver.4", `run ${row.id} completed, and its step ${location} is not recorded`);
    }
  }

  /** `Session.1`: the completions that the code had received when it requested the step are durable. */
  #durable(
    expectedRun: ExpectedRun,
    all: readonly string[],
    generation: number,
    { known, attemptText }: { readonly known: KnownState; readonly attemptText: string },
  ): void {
    const done = expectedRun.done.get(generation);
    for (const given of all) {
      if (done?.has(given) || known.done.has(given)) continue;
      this.#monitor.violate("Session.1", `${attemptText} before ${given} is durable`);
      return;
    }
  }

  /** Rules for the owner of the run. A worker that lost the run without notice may break them. */
  #current(expectedRun: ExpectedRun, location: string, attempt: number, attemptText: string): void {
    if (expectedRun.doneBy.has(location)) this.#monitor.violate("I3", `${attemptText} although it is completed`);
    const retry = expectedRun.retries.get(location);
    if (attempt !== (retry?.attempts ?? 0) + 1)
      this.#monitor.violate("attempts", `${attemptText} after ${retry?.attempts ?? 0} recorded failures`);
    if (retry !== undefined && this.#simulation.storeNowMax + ESTIMATE_MS_MAX < retry.retryAt) {
      this.#monitor.violate("time", `${attemptText} before ${retry.retryAt}, the time of the next attempt`);
    }
  }

  /** I3: a started body is executed again only if its process died or lost the run. */
  #once(
    worker: SimProcess,
    execution: Execution,
    start: { readonly key: string; readonly epoch: number; readonly attemptText: string; readonly node: StepNode },
  ): void {
    const { key, epoch, attemptText, node } = start;
    const before = this.#lastStarts.get(key);
    if (before !== undefined && before.worker === worker && before.epoch === epoch) {
      this.#monitor.violate(
        "I3",
        `${attemptText} although the process of the last start neither died nor lost the run`,
      );
    }
    if (node.poison) {
      const body = `${execution.runId} ${node.name} ${node.rollback === null}`;
      const count = (this.#starts.get(body) ?? 0) + 1;
      this.#starts.set(body, count);
      // A rewind resets the count of claims.
      const times = 1 + (this.#monitor.expectedRuns.get(execution.runId)?.reopened ?? 0);
      if (count > this.#simulation.case.settings.claimsMax * times + POISON_EXTRA)
        this.#monitor.violate("poison", `${attemptText} for the ${count}th time`);
    }
    this.#lastStarts.set(key, { worker, epoch });
  }
}
