import { Chance } from "pawl-test-shared/chance";
import { type Scope, SIGNALS } from "./block.ts";
import { drive, type Machine } from "./drive.ts";
import { generate } from "./generate.ts";

export interface Failure {
  readonly seed: number;
  readonly scope: Scope;
  readonly text: string;
  readonly trace: readonly string[];
}

export function processOf(seed: number): Scope {
  return generate(new Chance(seed), SIGNALS);
}

/** The first seed for which machine and oracle differ. Null if there is none. */
export async function firstFailure(
  machine: Machine,
  {
    from,
    seeds,
    steps,
  }: { readonly from: number; readonly seeds: number; readonly steps?: (trace: readonly string[]) => void },
): Promise<Failure | null> {
  for (let seed = from; seed < from + seeds; seed += 1) {
    const scope = processOf(seed);
    const { flaw, trace } = await drive(scope, machine, seed);
    steps?.(trace);
    if (flaw !== null) return { seed, scope, text: flaw, trace };
  }
  return null;
}
