import { type Scope, SIGNALS } from "./block.ts";
import { Chance } from "./chance.ts";
import { drive, type Machine } from "./drive.ts";
import { generate } from "./generate.ts";
import { smaller } from "./shrink.ts";

/** How often a smaller process is tried, each time with other choices. */
const TRIES = 8;
const ROUNDS_MAX = 400;

export interface Failure {
  readonly seed: number;
  readonly scope: Scope;
  readonly text: string;
  readonly trace: readonly string[];
}

export function processOf(seed: number): Scope {
  return generate(new Chance(seed), SIGNALS);
}

/** The first seed of which machine and oracle disagree; null: none. */
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

/** The same disagreement, in the smallest process that is found. */
export async function shrunk(machine: Machine, failure: Failure): Promise<Failure> {
  let best = failure;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const found = await smallerFailure(machine, best);
    if (found === null) return best;
    best = found;
  }
  return best;
}

async function smallerFailure(machine: Machine, { scope, seed, text }: Failure): Promise<Failure | null> {
  const kind = text.split("\n")[0];
  for (const each of smaller(scope)) {
    for (let i = 0; i < TRIES; i += 1) {
      const { flaw, trace } = await driveOrNothing(each, machine, seed + i);
      if (flaw !== null && flaw.split("\n")[0] === kind) return { seed, scope: each, text: flaw, trace };
    }
  }
  return null;
}

/** A smaller process may be one that is not deployed. */
async function driveOrNothing(scope: Scope, machine: Machine, seed: number): ReturnType<typeof drive> {
  try {
    return await drive(scope, machine, seed);
  } catch {
    return { flaw: null, trace: [] };
  }
}
