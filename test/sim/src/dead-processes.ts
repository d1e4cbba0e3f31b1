import type { SimProcess, SimulationContext } from "./simulation-context.ts";

/** The processes of a simulation that have died. The name of a process is the time of its start, which no other process has. */
const dead = new WeakMap<SimulationContext, Map<string, string>>();

export function noteDeath(
  simulation: SimulationContext,
  { name, engineId }: SimProcess & { readonly name: string },
): void {
  const known = dead.get(simulation) ?? new Map<string, string>();
  dead.set(simulation, known.set(name, engineId));
}

export function isDead(simulation: SimulationContext, name: string): boolean {
  return dead.get(simulation)?.has(name) === true;
}

/** Whether a worker ran in a process that has died. */
export function isDeadWorker(simulation: SimulationContext, engineId: string): boolean {
  return [...(dead.get(simulation)?.values() ?? [])].includes(engineId);
}
