import type { Resource, ResourceOptions, StepInfo } from "pawl";
import type { Execution, SimResource, TransactionCall } from "./interpreter-frame.ts";
import { undoneStep } from "./monitor-compensation.ts";
import { transactionKey } from "./monitor-transactions.ts";
import { never } from "./noop.ts";
import { type StepNode, stepValue, type TransactionNode } from "./program.ts";
import type { BodyRunner, SimProcess, SimulationContext } from "./simulation-context.ts";

interface ResourceHolder {
  readonly worker: SimProcess;
  readonly execution: Execution;
}

/** Executes step bodies, which take time, throw, hang or crash their process. Their value depends only on their position. */
export class StepBodies implements BodyRunner {
  /** Executions with resources. */
  readonly #holders = new Set<ResourceHolder>();
  /** Runs that have crashed a worker on purpose. */
  readonly killers = new Set<string>();
  readonly #simulation: SimulationContext;

  constructor(simulation: SimulationContext) {
    this.#simulation = simulation;
  }

  /** Executions of live workers that hold a resource. */
  get held(): readonly ResourceHolder[] {
    return [...this.#holders].filter(({ worker, execution }) => !worker.dead && execution.held.length > 0);
  }

  begin(worker: SimProcess, execution: Execution): Execution {
    this.#simulation.monitor.effects.executionStarts(worker, execution);
    return execution;
  }

  run(
    worker: SimProcess,
    execution: Execution,
    node: StepNode,
    location: string,
    info: StepInfo,
    given: number,
  ): unknown {
    const { scheduler, monitor } = this.#simulation;
    if (worker.dead) return never();
    monitor.effects.bodyStarts(worker, execution, { node, location, attempt: info.attempt, given });
    monitor.suspects.bodyStarts(worker, execution);
    info.signal.addEventListener("abort", () => monitor.effects.bodyAborted(execution, location));
    if (node.poison) {
      this.killers.add(execution.runId);
      worker.kill("poison");
      return never();
    }
    this.#checkHeld(execution, location);
    const { chance } = scheduler;
    const { faultRates } = this.#simulation;
    if (chance.roll(faultRates.hang)) {
      worker.hung = true;
      scheduler.at(scheduler.now + chance.between(100, 6000), {
        actor: null,
        label: `${worker.name} hung`,
        run: () => worker.kill("a body hung"),
      });
      return never();
    }
    const end = (): unknown => {
      if (chance.roll(faultRates.crashInBody)) {
        worker.kill("crash after a body's effect");
        return null;
      }
      monitor.effects.bodyEnded(execution, location);
      if (faultRates.block > 0 && chance.roll(faultRates.block)) this.#block(worker, location);
      return this.#outcome(execution, node, location, info.attempt);
    };
    const slowMs = node.takesMs ?? (node.slow && node.timeoutMs !== null ? node.timeoutMs * 4 + 100 : null);
    if (slowMs === null && chance.roll(0.4)) return end();
    const takesMs = slowMs ?? (chance.roll(0.15) ? chance.between(100, 4000) : chance.between(0, 20));
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        try {
          resolve(end());
        } catch (error) {
          reject(error);
        }
      };
      scheduler.at(scheduler.now + takesMs, {
        actor: worker,
        label: `body ${execution.runId} ${location} ends`,
        run: finish,
      });
    });
  }

  /** No timer and no answer reaches the worker until the body has ended, so its result and a late heartbeat come in any order. */
  #block(worker: SimProcess, location: string): void {
    const { scheduler, case: plan } = this.#simulation;
    worker.pausedUntil = scheduler.now + Math.floor(plan.settings.leaseMs * (0.5 + 2 * scheduler.chance.next()));
    scheduler.remark(`${location} blocks ${worker.name} until ${worker.pausedUntil}`);
  }

  /** A resource that is acquired at once or after a delay, and released in reverse order. */
  resource(worker: SimProcess, execution: Execution, name: string): ResourceOptions<SimResource> {
    const { scheduler, monitor } = this.#simulation;
    const acquired = (): SimResource => {
      execution.held.push(name);
      return { name, isHeld: true };
    };
    this.#holders.add({ worker, execution });
    return {
      acquire: () => {
        if (scheduler.chance.roll(0.5)) return acquired();
        return new Promise((resolve) => {
          const run = (): void => resolve(acquired());
          scheduler.at(scheduler.now + scheduler.chance.between(1, 300), {
            actor: worker,
            label: `acquired ${name}`,
            run,
          });
        });
      },
      release: (resource) => {
        resource.isHeld = false;
        const last = execution.held.pop();
        if (last !== name && !worker.dead)
          monitor.violate("resource", `run ${execution.runId} releases ${name}; it acquired ${last} last`);
      },
    };
  }

  /** A step body has all resources of its code. A rollback needs none. */
  #checkHeld(execution: Execution, location: string): void {
    if (undoneStep(location) !== null) return;
    for (const resource of execution.resources) {
      if (!isHeld(resource))
        this.#simulation.monitor.violate(
          "resource",
          `run ${execution.runId}: ${location} starts without ${resource.name}`,
        );
    }
  }

  /** A transaction that increments its counter in the store, so that a second commit is visible. */
  transact(
    worker: SimProcess,
    execution: Execution,
    node: TransactionNode,
    { location, tx, attempt }: TransactionCall,
  ): string {
    const key = transactionKey(execution.runId, execution.generation, location);
    this.#simulation.monitor.transactions.called(worker, execution, { key, location, count: Number(tx.get(key) ?? 0) });
    tx.set(key, Number(tx.get(key) ?? 0) + 1);
    const value = stepValue(execution.runId, execution.generation, location, attempt);
    if (attempt > node.failures) return value;
    throw new Error(value);
  }

  #outcome(execution: Execution, node: StepNode, location: string, attempt: number): string {
    const value = stepValue(execution.runId, execution.generation, location, attempt);
    if (attempt > node.failures) return value;
    throw node.critical ? new this.#simulation.pawl.CriticalError(value) : new Error(value);
  }
}

/** A resource that is not acquired throws when it is read. */
function isHeld(resource: Resource<SimResource>): boolean {
  try {
    return resource.value.isHeld;
  } catch {
    return false;
  }
}
