import type { LogLevel, MemoryStore, Run, Transition } from "pawl";
import { Client } from "./client.ts";
import type { Pawl } from "./engine-under-test.ts";
import { cell, type Matrix, type TransactionKind } from "./fault-matrix.ts";
import { Monitor } from "./monitor.ts";
import { noop } from "./noop.ts";
import { type NamedNode, namedNodes, nodeName, type ProgramInput } from "./program.ts";
import { Scheduler, START_AT } from "./scheduler.ts";
import { CALL_FAULTS, type CallFault, type FaultRates, NO_FAULTS, type SimCase } from "./sim-case.ts";
import { SimWorker } from "./sim-worker.ts";
import type { SimProcess, SimulationContext } from "./simulation-context.ts";
import { StepBodies } from "./step-bodies.ts";

const CHAOS_TICK_MS = 250;

/** Rare transactions. Their fault rates are multiplied by RARE_FACTOR. */
const RARE: ReadonlySet<TransactionKind> = new Set([
  "append-released",
  "append-continued",
  "append-rollback",
  "append-trim",
  "append-transaction",
  "control-cancelled",
  "control-compensating",
  "control-paused",
  "control-resumed",
  "control-reopened",
  "control-restarted",
  "control-failed",
  "post-letter",
  "prune",
]);
const RARE_FACTOR = 4;
const LATE_HEARTBEAT_FACTOR = 5;

/** Texts of logged errors that must never occur in a simulation. */
const FATAL_LOGS = /unhandled rejection|invariant violated|before it could write|listener threw|listener of/;

/** One simulation: the shared store, the workers, the client, the monitors and the faults. */
export class Simulation implements SimulationContext {
  readonly case: SimCase;
  readonly pawl: Pawl;
  readonly scheduler: Scheduler;
  readonly store: MemoryStore;
  readonly monitor: Monitor;
  readonly bodies: StepBodies;
  readonly client: Client;
  readonly matrix: Matrix = {};
  readonly creating = new Set<readonly Transition[]>();
  faultRates: FaultRates;
  /** The number of store calls by workers. */
  calls = 0;
  /** The maximum of the store's clock so far. */
  storeNowMax = 0;
  readonly #nodes: ReadonlyArray<ReadonlyMap<string, NamedNode>>;
  #workers: SimWorker[] = [];
  #workerCount = 0;
  #storeOffsetMs = 0;
  #outUntil = 0;
  #shutdowns = 0;
  #over = false;
  #changed: boolean;

  constructor(pawl: Pawl, plan: SimCase) {
    this.pawl = pawl;
    this.case = plan;
    this.faultRates = plan.faultRates;
    this.#changed = plan.changeAtMs === 0;
    this.scheduler = new Scheduler(plan.seed);
    this.store = pawl.memoryStore();
    this.#nodes = plan.programs.map((program) => namedNodes(program.nodes));
    this.bodies = new StepBodies(this);
    this.monitor = new Monitor(this);
    this.client = new Client(this);
  }

  get storeNow(): number {
    const now = this.scheduler.now + this.#storeOffsetMs;
    if (now > this.storeNowMax) this.storeNowMax = now;
    return now;
  }

  /** True during an outage of the store. */
  get isOut(): boolean {
    return this.scheduler.now < this.#outUntil;
  }

  /** True after the change of the workers' code. */
  get isChanged(): boolean {
    return this.#changed;
  }

  get isStarting(): boolean {
    return this.client.isStarting || this.creating.size > 0;
  }

  /** Workers whose engine accepts requests. */
  get usable(): readonly SimWorker[] {
    return this.#workers.filter((worker) => worker.usable);
  }

  /** Shutdowns in progress. */
  get shutdowns(): number {
    return this.#shutdowns;
  }

  async open(): Promise<void> {
    await this.store.open({ now: () => this.storeNow, every: () => noop });
    this.store.watch((hint) => {
      for (const worker of this.#workers) if (!worker.dead) this.#hint(worker, () => worker.hint(hint));
    });
    this.#launch(true);
    for (let index = 0; index < this.case.workers; index += 1) this.#launch(false);
    this.client.begin();
    this.#scheduleFaults();
    if (!this.#changed) this.#change();
  }

  /** Deploys the changed code: workers with the old code are stopped, and no more are started. */
  #change(): void {
    this.scheduler.at(START_AT + this.case.changeAtMs, {
      actor: null,
      label: "deploy changed code",
      run: () => {
        this.#changed = true;
        for (const worker of this.#workers) {
          if (worker.isClient) continue;
          if (worker.engine !== null && this.scheduler.chance.roll(0.5)) this.#shutDown(worker);
          else worker.kill("its code was replaced");
        }
      },
    });
  }

  /** Ends the phase with faults. */
  stopFaults(): void {
    this.faultRates = NO_FAULTS;
    this.#outUntil = 0;
    for (const worker of this.#workers) {
      if (worker.hung) worker.kill("a body hung");
      if (worker.version !== null) worker.kill("replaced by a worker with all versions");
      worker.pausedUntil = Math.min(worker.pausedUntil, this.scheduler.now + 1);
    }
  }

  close(): void {
    this.#over = true;
    for (const worker of this.#workers) worker.dead = true;
  }

  /** Chooses the fault of this call, or null. */
  faultOf(worker: SimProcess, kinds: readonly TransactionKind[]): CallFault | null {
    const often = kinds.some((kind) => RARE.has(kind)) ? RARE_FACTOR : 1;
    const fault = worker.isClient
      ? clientFault(this.#draw(often, kinds))
      : this.case.forced === null
        ? this.#draw(often, kinds)
        : this.#forced();
    if (fault !== null)
      for (const kind of kinds) this.matrix[cell(kind, fault)] = (this.matrix[cell(kind, fault)] ?? 0) + 1;
    return fault;
  }

  /** The wait at a location, as kinds and names. Counted receives are omitted. */
  awaited(row: Run, location: string): readonly string[] {
    const input = JSON.parse(row.input ?? "null") as ProgramInput;
    const node = this.#nodes[input.p]?.get(nodeName(location));
    if (node?.kind === "listen") return [`message:${node.message}`];
    if (node?.kind === "event") return [`event:${node.topic}`];
    if (node?.kind !== "select") return [];
    return [node.message === null ? "" : `message:${node.message}`, node.topic === null ? "" : `event:${node.topic}`];
  }

  logged(worker: SimProcess, level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>): void {
    if (level === "debug" || worker.dead) return;
    if (level !== "info") this.scheduler.remark(`${worker.name} ${level}: ${text} ${JSON.stringify(fields)}`);
    if (fields.code === "HISTORY_DIVERGED") this.monitor.violate("I7", text);
    else if (level === "error" && FATAL_LOGS.test(text))
      this.monitor.violate("engine", `${text} ${JSON.stringify(fields)}`);
  }

  opened(): void {
    this.client.wake();
  }

  died(worker: SimProcess): void {
    this.#workers = this.#workers.filter((other) => other !== worker);
    if (this.#over || worker.isClient) return;
    const { scheduler } = this;
    scheduler.at(scheduler.now + scheduler.chance.between(5, 1500), {
      actor: null,
      label: "start a worker",
      run: () => this.#launch(false),
    });
  }

  #launch(isClient: boolean): void {
    const { chance } = this.scheduler;
    const { skew } = this.case.faultRates;
    this.#workerCount += 1;
    const skewMs = chance.between(-skew, skew);
    const estimateMs = skew === 0 ? 0 : chance.between(-20, 20);
    const { partial } = this.case;
    const isPartial = !isClient && partial > 0 && this.faultRates !== NO_FAULTS && chance.roll(partial);
    const version = isPartial ? chance.between(1, 2) : null;
    const name = isClient ? "client" : `w${this.#workerCount}`;
    const worker = new SimWorker(this, name, { isClient, skewMs, estimateMs, version });
    this.#workers.push(worker);
    worker.start(this.case.seed * 1000 + this.#workerCount);
  }

  #draw(often: number, kinds: readonly TransactionKind[]): CallFault | null {
    let left = this.scheduler.chance.next();
    for (const fault of CALL_FAULTS) {
      // A late answer to a heartbeat matters only if it reports an expired lease, which is rare.
      const isLateBeat = fault === "lateAnswer" && kinds.includes("heartbeat");
      left -= isLateBeat
        ? Math.min(0.6, this.faultRates[fault] * LATE_HEARTBEAT_FACTOR)
        : this.faultRates[fault] * often;
      if (left < 0) return fault;
    }
    return null;
  }

  #forced(): CallFault | null {
    const { forced } = this.case;
    this.calls += 1;
    return forced !== null && forced.call === this.calls - 1 ? forced.fault : null;
  }

  /** A hint may be lost, repeated or late. */
  #hint(worker: SimWorker, run: () => void): void {
    const { chance } = this.scheduler;
    if (chance.roll(this.faultRates.hintLost)) return;
    const task = { actor: worker, label: "hint", run };
    const times = chance.roll(this.faultRates.hintTwice) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      if (chance.roll(this.faultRates.hintLate)) this.scheduler.at(this.scheduler.now + chance.between(1, 3000), task);
      else this.scheduler.add(task);
    }
  }

  #scheduleFaults(): void {
    const { scheduler } = this;
    scheduler.at(scheduler.now + CHAOS_TICK_MS, {
      actor: null,
      label: "chaos",
      run: () => {
        this.#injectFaults();
        if (this.faultRates !== NO_FAULTS) this.#scheduleFaults();
      },
    });
  }

  #injectFaults(): void {
    const { chance, now } = this.scheduler;
    const rate = CHAOS_TICK_MS / 1000;
    const workers = this.#workers.filter((worker) => !worker.isClient);
    if (workers.length === 0) return;
    const worker = chance.pick(workers);
    if (chance.roll(this.faultRates.kill * rate)) worker.kill("killed");
    if (chance.roll(this.faultRates.pause * rate)) {
      worker.pausedUntil = now + Math.floor(this.case.settings.leaseMs * (0.5 + 2 * chance.next()));
      this.scheduler.remark(`${worker.name} pauses until ${worker.pausedUntil}`);
    }
    if (chance.roll(this.faultRates.shutdown * rate)) this.#shutDown(worker);
    if (chance.roll(this.faultRates.clockJump * rate)) {
      this.#storeOffsetMs += chance.between(-12_000, 12_000);
      this.scheduler.remark(`the store's clock jumps to an offset of ${this.#storeOffsetMs}`);
    }
    if (chance.roll(this.faultRates.outage * rate)) this.#outUntil = now + chance.between(100, 2500);
  }

  #shutDown(worker: SimWorker): void {
    const { engine } = worker;
    if (engine === null || worker.dead) return;
    this.#shutdowns += 1;
    let open = true;
    const ended = (): void => {
      if (open) this.#shutdowns -= 1;
      open = false;
    };
    worker.onDeath(ended);
    const exit = (): void => worker.kill("shut down");
    void engine.shutdown({ drainMs: this.scheduler.chance.pick([0, 50, 1000]) }).then(exit, exit);
  }
}

/** A client cannot crash; a crash fault becomes an error. */
function clientFault(fault: CallFault | null): CallFault | null {
  if (fault === "crashBefore") return "error";
  if (fault === "unusable") return null;
  return fault === "crashAfter" ? "appliedError" : fault;
}
