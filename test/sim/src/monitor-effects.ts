import type { Heartbeat, Run } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import type { Execution } from "./interpreter-frame.ts";
import { undoneStep } from "./monitor-compensation.ts";
import { generationOf, type StepNode } from "./program.ts";
import type { BodyStart, ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** What the code's process knew when it began. */
interface Knowledge {
  readonly epoch: number;
  readonly done: ReadonlySet<string>;
}

/** How far a worker's idea of the store's clock may be off. */
const ESTIMATE_MS_MAX = 50;
/** Tries that a poisonous body may get beyond the bound on claims: the first owner's, and one for each claim that made progress. */
const POISON_EXTRA = 6;

/** I3 and `Session.1`: when a step body may start. */
export class EffectsMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  readonly #knowledge = new Map<Execution, Knowledge>();
  /** Who began a body last, by run, generation, location and try. */
  readonly #begun = new Map<string, { readonly worker: SimProcess; readonly epoch: number }>();
  readonly #starts = new Map<string, number>();
  /** The epochs of runs when an answer was given that tells of a lapse. */
  readonly #lostLeases = new WeakMap<Heartbeat, ReadonlyMap<string, number>>();
  /** As each worker has last heard. */
  readonly #knownLosses = new Map<SimProcess, ReadonlyMap<string, number>>();

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
  }

  executionStarts(worker: SimProcess, execution: Execution): void {
    const loaded = worker.loads.get(execution.runId);
    const records = [...(loaded?.records ?? [])];
    const done = new Set(records.filter((record) => record.kind !== "retry").map((record) => record.location));
    this.#knowledge.set(execution, { epoch: loaded?.run.epoch ?? 1, done });
  }

  /** A beat was applied, and these are the rows after it. */
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
    const knowledge = this.#knowledge.get(execution);
    if (expectedRun === undefined || knowledge === undefined) return;
    const what = `${worker.name} starts ${location} of run ${execution.runId}, try ${attempt},`;
    if (knowledge.done.has(location)) this.#monitor.violate("I3", `${what} although it was given its completion`);
    const lost = undoneStep(location) === null ? execution.lost.find((scope) => location.startsWith(scope)) : undefined;
    if (lost !== undefined) this.#monitor.violate("race", `${what} although ${lost} has lost its race`);
    if ((this.#knownLosses.get(worker)?.get(execution.runId) ?? 0) > knowledge.epoch)
      this.#monitor.violate("I2", `${what} although it has heard that the run is lost`);
    if (attempt > node.maxAttempts) this.#monitor.violate("attempts", `${what} of ${node.maxAttempts}`);
    this.#durable(expectedRun, execution.given.slice(0, start.given), execution.generation, { knowledge, what });
    const { row } = expectedRun;
    const current =
      row.epoch === knowledge.epoch && row.owner === worker.engineId && generationOf(row) === execution.generation;
    if (current) this.#current(expectedRun, location, attempt, what);
    if (current && row.version !== execution.version)
      this.#monitor.violate(
        "version",
        `${what} with the code of version ${execution.version}, it is of ${row.version}`,
      );
    this.#once(worker, execution, {
      key: `${execution.runId}|${execution.generation}|${location}|${attempt}`,
      epoch: knowledge.epoch,
      what,
      node,
    });
  }

  /** I11: a handler gets what the step brought. */
  undoes(execution: Execution, location: string, value: unknown): void {
    const record = this.#monitor.expectedRuns
      .get(execution.runId)
      ?.history.find((each) => each.location === location && each.kind === "step");
    if (record === undefined || record.payload !== JSON.stringify(value))
      this.#monitor.violate(
        "I11",
        `run ${execution.runId} undoes ${location} with ${JSON.stringify(value)}, it was ${record?.payload}`,
      );
  }

  /** `Session.1`: what the code had been given when it asked for the step is durable. */
  #durable(
    expectedRun: ExpectedRun,
    all: readonly string[],
    generation: number,
    { knowledge, what }: { readonly knowledge: Knowledge; readonly what: string },
  ): void {
    const done = expectedRun.done.get(generation);
    for (const given of all) {
      if (done?.has(given) || knowledge.done.has(given)) continue;
      this.#monitor.violate("Session.1", `${what} before ${given} is durable`);
      return;
    }
  }

  /** What holds for the owner of the run, and not for one that has lost it without knowing. */
  #current(expectedRun: ExpectedRun, location: string, attempt: number, what: string): void {
    if (expectedRun.doneBy.has(location)) this.#monitor.violate("I3", `${what} although it is completed`);
    const retry = expectedRun.retries.get(location);
    if (attempt !== (retry?.attempts ?? 0) + 1)
      this.#monitor.violate("attempts", `${what} after ${retry?.attempts ?? 0} recorded failures`);
    if (retry !== undefined && this.#simulation.storeNowMax + ESTIMATE_MS_MAX < retry.retryAt) {
      this.#monitor.violate("time", `${what} before ${retry.retryAt}, the time of the next try`);
    }
  }

  /** I3: a body that was begun runs again only if its process died or lost the run. */
  #once(
    worker: SimProcess,
    execution: Execution,
    start: { readonly key: string; readonly epoch: number; readonly what: string; readonly node: StepNode },
  ): void {
    const { key, epoch, what, node } = start;
    const before = this.#begun.get(key);
    if (before !== undefined && before.worker === worker && before.epoch === epoch) {
      this.#monitor.violate("I3", `${what} although its process neither died nor lost the run since it began it`);
    }
    if (node.poison) {
      const count = (this.#starts.get(execution.runId) ?? 0) + 1;
      this.#starts.set(execution.runId, count);
      // An operator who sets the run back has its claims counted anew.
      const times = 1 + (this.#monitor.expectedRuns.get(execution.runId)?.reopened ?? 0);
      if (count > this.#simulation.case.settings.claimsMax * times + POISON_EXTRA)
        this.#monitor.violate("poison", `${what} for the ${count}th time`);
    }
    this.#begun.set(key, { worker, epoch });
  }
}
