import type { Heartbeat, Run, Transition } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import type { Execution } from "./interpreter-frame.ts";
import { undoneStep } from "./monitor-compensation.ts";
import { generationOf, type StepNode, UNFINISHED } from "./program.ts";
import type { BodyStart, ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

/** The state that the code's process had loaded when the execution started. */
interface KnownState {
  readonly epoch: number;
  readonly done: ReadonlySet<string>;
}

interface StartedBody {
  readonly attempt: number;
  endedAt: number | null;
  abortedAt: number | null;
}

interface StartedBodies {
  readonly worker: SimProcess;
  readonly epoch: number;
  readonly execution: Execution;
  readonly bodies: Map<string, StartedBody>;
}

type Append = Extract<Transition, { kind: "append" }>;

function hasStopped({ history }: ExpectedRun): boolean {
  return history.some(({ kind }) => kind === "compensate");
}

/** The grace of every engine. Some bodies take longer. */
export const GRACE_MS = 1_500;

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
  /** The bodies that the last execution of each run has started, without rollbacks. */
  readonly #started = new Map<string, StartedBodies>();
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
    const done = new Set(
      records.filter(({ kind }) => kind !== "retry" && kind !== "started").map((record) => record.location),
    );
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
    if (current) this.#noteStarted(worker, execution, { location, attempt, epoch: known.epoch });
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
    const isRight = value === UNFINISHED ? record === undefined : record?.payload === JSON.stringify(value);
    if (!isRight)
      this.#monitor.violate(
        "I11",
        `run ${execution.runId} rolls back ${location} with ${String(JSON.stringify(value))}; the recorded value is ${record?.payload}`,
      );
  }

  #noteStarted(
    worker: SimProcess,
    execution: Execution,
    { location, attempt, epoch }: { readonly location: string; readonly attempt: number; readonly epoch: number },
  ): void {
    if (undoneStep(location) !== null) return;
    const { runId } = execution;
    const known = this.#started.get(runId);
    const started = known?.execution === execution ? known : { worker, epoch, execution, bodies: new Map() };
    started.bodies.set(location, { attempt, endedAt: null, abortedAt: null });
    this.#started.set(runId, started);
  }

  bodyEnded(execution: Execution, location: string): void {
    const body = this.#bodyOf(execution, location);
    if (body !== undefined) body.endedAt ??= this.#simulation.scheduler.now;
  }

  bodyAborted(execution: Execution, location: string): void {
    const body = this.#bodyOf(execution, location);
    if (body !== undefined) body.abortedAt ??= this.#simulation.scheduler.now;
  }

  #bodyOf(execution: Execution, location: string): StartedBody | undefined {
    const started = this.#started.get(execution.runId);
    return started?.execution === execution ? started.bodies.get(location) : undefined;
  }

  /**
   * The bodies of an execution that are not recorded. Branches that lost a `ctx.race`, and iterations of `ctx.loop`, abandon theirs. Failed
   * attempts are recorded as such.
   */
  #unrecorded({ execution, bodies }: StartedBodies, { done, retries }: ExpectedRun): ReadonlyMap<string, StartedBody> {
    return new Map(
      [...bodies].filter(([location, { attempt }]) => {
        const isAbandoned = location.includes("/~") || execution.lost.some((scope) => location.startsWith(scope));
        const isRecorded = done.get(execution.generation)?.has(location) ?? false;
        return !isAbandoned && !isRecorded && (retries.get(location)?.attempts ?? 0) < attempt;
      }),
    );
  }

  /** `ProgramDriver.4`: a run that completes has recorded every step that its code started, awaited or not. */
  runCompleted(expectedRun: ExpectedRun): void {
    const { row, reopened } = expectedRun;
    const started = this.#started.get(row.id);
    if (started === undefined || started.execution.generation !== generationOf(row) || reopened > 0) return;
    for (const location of this.#unrecorded(started, expectedRun).keys())
      this.#monitor.violate("ProgramDriver.4", `run ${row.id} completed, and its step ${location} is not recorded`);
  }

  /**
   * The owner stops a run: to fail it, to cancel it, or to pause it. `ProgramDriver.5`: a body that ended within the grace is recorded, and
   * others had that time. `Session.6`: a pause waits for every running body.
   */
  runStopped(worker: SimProcess, { runId, epoch, records, state }: Append): void {
    const expectedRun = this.#monitor.expectedRuns.get(runId);
    const started = this.#started.get(runId);
    if (expectedRun === undefined || started?.worker !== worker || started.epoch !== epoch) return;
    const isPause = state?.status === "paused" && !(state.reason ?? "").includes('"HISTORY_DIVERGED"');
    const isStop = records.some(({ kind }) => kind === "compensate");
    const isEnd = (state?.status === "failed" || state?.status === "cancelled") && !hasStopped(expectedRun);
    if (!isPause && !isStop && !isEnd) return;
    const { now } = this.#simulation.scheduler;
    for (const [location, { endedAt, abortedAt }] of this.#unrecorded(started, expectedRun)) {
      if (isPause) this.#monitor.violate("Session.6", `run ${runId} is paused, and ${location} is not recorded`);
      else if (abortedAt === null)
        this.#monitor.violate("ProgramDriver.5", `run ${runId} is stopped, and ${location} was not asked to end`);
      else if ((endedAt ?? now) < abortedAt + GRACE_MS - ESTIMATE_MS_MAX)
        this.#monitor.violate(
          "ProgramDriver.5",
          `run ${runId} is stopped ${now - abortedAt} ms after ${location} was asked to end, which is not recorded`,
        );
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
