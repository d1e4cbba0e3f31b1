import type { Resource, ResourceOptions, StepInfo } from "pawl";
import type { Line, SimResource, TransactionCall } from "./frame.ts";
import { transactionKey } from "./monitor-transactions.ts";
import { undoneStep } from "./monitor-undo.ts";
import { never } from "./nothing.ts";
import { type StepNode, stepValue, type TransactionNode } from "./program.ts";
import type { BodyRunner, SimProcess, Stage } from "./stage.ts";

interface Holder {
  readonly worker: SimProcess;
  readonly line: Line;
}

/** What step bodies do: they take time, throw, hang, and end their process. What they bring is a function of where they stand. */
export class Bodies implements BodyRunner {
  /** Who has asked for resources. */
  readonly #holders = new Set<Holder>();
  readonly #world: Stage;

  constructor(world: Stage) {
    this.#world = world;
  }

  /** Who holds a resource, and lives. */
  get held(): readonly Holder[] {
    return [...this.#holders].filter(({ worker, line }) => !worker.dead && line.held.length > 0);
  }

  begin(worker: SimProcess, line: Line): Line {
    this.#world.monitor.effects.lineBegins(worker, line);
    return line;
  }

  run(worker: SimProcess, line: Line, node: StepNode, location: string, info: StepInfo, given: number): unknown {
    const { scheduler, monitor } = this.#world;
    if (worker.dead) return never();
    monitor.effects.bodyStarts(worker, line, { node, location, attempt: info.attempt, given });
    if (node.poison) {
      worker.kill("poison");
      return never();
    }
    this.#checkHeld(line, location);
    const { chance } = scheduler;
    const { swarm } = this.#world;
    if (chance.roll(swarm.hang)) {
      worker.hung = true;
      scheduler.at(scheduler.now + chance.between(100, 6000), {
        actor: null,
        label: `${worker.name} hung`,
        run: () => worker.kill("a body hung"),
      });
      return never();
    }
    const end = (): unknown => {
      if (chance.roll(swarm.crashInBody)) {
        worker.kill("crash after a body's effect");
        return null;
      }
      return this.#outcome(line, node, location, info.attempt);
    };
    const slowMs = node.slow && node.timeoutMs !== null ? node.timeoutMs * 4 + 100 : null;
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
        label: `body ${line.runId} ${location} ends`,
        run: finish,
      });
    });
  }

  /** Acquired at once or after a while; released in the reverse order. */
  resource(worker: SimProcess, line: Line, name: string): ResourceOptions<SimResource> {
    const { scheduler, monitor } = this.#world;
    const acquired = (): SimResource => {
      line.held.push(name);
      return { name, isHeld: true };
    };
    this.#holders.add({ worker, line });
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
        const last = line.held.pop();
        if (last !== name && !worker.dead)
          monitor.violate("resource", `run ${line.runId} releases ${name}, it acquired ${last} last`);
      },
    };
  }

  /** A body finds what its code holds; what undoes needs nothing of it. */
  #checkHeld(line: Line, location: string): void {
    if (undoneStep(location) !== null) return;
    for (const resource of line.resources) {
      if (!isHeld(resource))
        this.#world.monitor.violate("resource", `run ${line.runId}: ${location} starts without ${resource.name}`);
    }
  }

  /** Counts itself in the store, so that a second time would be seen; what throws is not counted. */
  transact(worker: SimProcess, line: Line, node: TransactionNode, { location, tx, attempt }: TransactionCall): string {
    const key = transactionKey(line.runId, line.generation, location);
    this.#world.monitor.transactions.called(worker, line, { key, location, count: Number(tx.get(key) ?? 0) });
    tx.set(key, Number(tx.get(key) ?? 0) + 1);
    const value = stepValue(line.runId, line.generation, location, attempt);
    if (attempt > node.failures) return value;
    throw new Error(value);
  }

  #outcome(line: Line, node: StepNode, location: string, attempt: number): string {
    const value = stepValue(line.runId, line.generation, location, attempt);
    if (attempt > node.failures) return value;
    throw node.critical ? new this.#world.pawl.CriticalError(value) : new Error(value);
  }
}

/** One that is not held throws when it is read. */
function isHeld(resource: Resource<SimResource>): boolean {
  try {
    return resource.value.isHeld;
  } catch {
    return false;
  }
}
