import type { Heartbeat, Run } from "pawl";
import type { Line } from "./frame.ts";
import { undoneStep } from "./monitor-undo.ts";
import { generationOf, type StepNode } from "./program.ts";
import type { Shadow } from "./shadow.ts";
import type { BodyStart, Findings, SimProcess, Stage } from "./stage.ts";

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
  readonly #monitor: Findings;
  readonly #world: Stage;
  readonly #knowledge = new Map<Line, Knowledge>();
  /** Who began a body last, by run, generation, location and try. */
  readonly #begun = new Map<string, { readonly worker: SimProcess; readonly epoch: number }>();
  readonly #starts = new Map<string, number>();
  /** The epochs of runs when an answer was given that tells of a lapse. */
  readonly #told = new WeakMap<Heartbeat, ReadonlyMap<string, number>>();
  /** As each worker has last heard. */
  readonly #heard = new Map<SimProcess, ReadonlyMap<string, number>>();

  constructor(monitor: Findings, world: Stage) {
    this.#monitor = monitor;
    this.#world = world;
  }

  lineBegins(worker: SimProcess, line: Line): void {
    const loaded = worker.loads.get(line.runId);
    const records = [...(loaded?.records ?? [])];
    const done = new Set(records.filter((record) => record.kind !== "retry").map((record) => record.location));
    this.#knowledge.set(line, { epoch: loaded?.run.epoch ?? 1, done });
  }

  /** A beat was applied, and these are the rows after it. */
  beaten(answer: Heartbeat, rows: readonly Run[]): void {
    if (!answer.alive) this.#told.set(answer, new Map(rows.map(({ id, epoch }) => [id, epoch])));
  }

  hears(worker: SimProcess, answer: Heartbeat): void {
    const epochs = this.#told.get(answer);
    if (epochs !== undefined) this.#heard.set(worker, epochs);
  }

  bodyStarts(worker: SimProcess, line: Line, start: BodyStart): void {
    const { node, location, attempt } = start;
    const shadow = this.#monitor.shadows.get(line.runId);
    const knowledge = this.#knowledge.get(line);
    if (shadow === undefined || knowledge === undefined) return;
    const what = `${worker.name} starts ${location} of run ${line.runId}, try ${attempt},`;
    if (knowledge.done.has(location)) this.#monitor.violate("I3", `${what} although it was given its completion`);
    const lost = undoneStep(location) === null ? line.lost.find((scope) => location.startsWith(scope)) : undefined;
    if (lost !== undefined) this.#monitor.violate("race", `${what} although ${lost} has lost its race`);
    if ((this.#heard.get(worker)?.get(line.runId) ?? 0) > knowledge.epoch)
      this.#monitor.violate("I2", `${what} although it has heard that the run is lost`);
    if (attempt > node.maxAttempts) this.#monitor.violate("attempts", `${what} of ${node.maxAttempts}`);
    this.#durable(shadow, line.given.slice(0, start.given), line.generation, { knowledge, what });
    const { row } = shadow;
    const current =
      row.epoch === knowledge.epoch && row.owner === worker.engineId && generationOf(row) === line.generation;
    if (current) this.#current(shadow, location, attempt, what);
    if (current && row.version !== line.version)
      this.#monitor.violate("version", `${what} with the code of version ${line.version}, it is of ${row.version}`);
    this.#once(worker, line, {
      key: `${line.runId}|${line.generation}|${location}|${attempt}`,
      epoch: knowledge.epoch,
      what,
      node,
    });
  }

  /** I11: a handler gets what the step brought. */
  undoes(line: Line, location: string, value: unknown): void {
    const record = this.#monitor.shadows
      .get(line.runId)
      ?.history.find((each) => each.location === location && each.kind === "step");
    if (record === undefined || record.payload !== JSON.stringify(value))
      this.#monitor.violate(
        "I11",
        `run ${line.runId} undoes ${location} with ${JSON.stringify(value)}, it was ${record?.payload}`,
      );
  }

  /** `Session.1`: what the code had been given when it asked for the step is durable. */
  #durable(
    shadow: Shadow,
    all: readonly string[],
    generation: number,
    { knowledge, what }: { readonly knowledge: Knowledge; readonly what: string },
  ): void {
    const done = shadow.done.get(generation);
    for (const given of all) {
      if (done?.has(given) || knowledge.done.has(given)) continue;
      this.#monitor.violate("Session.1", `${what} before ${given} is durable`);
      return;
    }
  }

  /** What holds for the owner of the run, and not for one that has lost it without knowing. */
  #current(shadow: Shadow, location: string, attempt: number, what: string): void {
    if (shadow.doneBy.has(location)) this.#monitor.violate("I3", `${what} although it is completed`);
    const retry = shadow.retries.get(location);
    if (attempt !== (retry?.attempts ?? 0) + 1)
      this.#monitor.violate("attempts", `${what} after ${retry?.attempts ?? 0} recorded failures`);
    if (retry !== undefined && this.#world.storeNowMax + ESTIMATE_MS_MAX < retry.retryAt) {
      this.#monitor.violate("time", `${what} before ${retry.retryAt}, the time of the next try`);
    }
  }

  /** I3: a body that was begun runs again only if its process died or lost the run. */
  #once(
    worker: SimProcess,
    line: Line,
    start: { readonly key: string; readonly epoch: number; readonly what: string; readonly node: StepNode },
  ): void {
    const { key, epoch, what, node } = start;
    const before = this.#begun.get(key);
    if (before !== undefined && before.worker === worker && before.epoch === epoch) {
      this.#monitor.violate("I3", `${what} although its process neither died nor lost the run since it began it`);
    }
    if (node.poison) {
      const count = (this.#starts.get(line.runId) ?? 0) + 1;
      this.#starts.set(line.runId, count);
      // An operator who sets the run back has its claims counted anew.
      const times = 1 + (this.#monitor.shadows.get(line.runId)?.reopened ?? 0);
      if (count > this.#world.case.settings.claimsMax * times + POISON_EXTRA)
        this.#monitor.violate("poison", `${what} for the ${count}th time`);
    }
    this.#begun.set(key, { worker, epoch });
  }
}
