import { parseArgs } from "node:util";
import { Instance } from "@pawl/bpmn";
import { drive } from "./drive.ts";
import { runMachineMutants } from "./run-mutants.ts";
import { type Failure, firstFailure, processOf } from "./seeds.ts";
import { shrinkFailure } from "./shrink-process.ts";
import { textOf } from "./text.ts";

/** The command `npm run bpmn:oracle`: executes random processes on the machine and in the oracle, and compares them. */

const USAGE = "npm run bpmn:oracle [-- --seeds N] [--from S] [--seed N] [--mutants [--only TEXT]]";
const values = read();

function read() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string", default: "1000" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        mutants: { type: "boolean", default: false },
        only: { type: "string", default: "" },
      },
    }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(`expected an integer above 0; got ${text}`);
  process.exit(2);
}

function printFailure({ seed, scope, trace, text }: Failure): void {
  console.log(`seed ${seed}\n\n${textOf(scope)}\n\n${trace.join("\n")}\n\nmachine and oracle differ: ${text}`);
}

async function repeat(seed: number): Promise<boolean> {
  const scope = processOf(seed);
  const { flaw, trace } = await drive(scope, Instance, seed);
  if (flaw === null) {
    console.log(`${textOf(scope)}\n\n${trace.join("\n")}\n\nseed ${seed}: no difference`);
    return true;
  }
  printFailure(await shrinkFailure(Instance, { seed, scope, text: flaw, trace }));
  console.log(`seed ${seed} fails`);
  return false;
}

async function run(from: number, seeds: number): Promise<boolean> {
  const counts = new Map<string, number>();
  const steps = (trace: readonly string[]): void => {
    for (const line of trace) {
      const kind = line.slice(0, line.indexOf(" "));
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  };
  const failure = await firstFailure(Instance, { from, seeds, steps });
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log([...counts].map(([kind, count]) => `${kind} ${count}`).join(", "));
  if (failure === null) {
    console.log(`${seeds} seeds, ${total} steps: machine, oracle and rebuilt state agree after each step`);
    return true;
  }
  printFailure(await shrinkFailure(Instance, failure));
  console.log(`seed ${failure.seed} fails after ${failure.seed - from} seeds without a difference`);
  return false;
}

const good = values.mutants
  ? await runMachineMutants(positiveInteger(values.seeds), values.only)
  : values.seed !== undefined
    ? await repeat(positiveInteger(values.seed))
    : await run(positiveInteger(values.from), positiveInteger(values.seeds));
process.exit(good ? 0 : 1);
