import { parseArgs } from "node:util";
import type { Kinds } from "./generate-leaves.ts";

export interface SimOptions {
  readonly seeds: number;
  readonly from: number;
  /** Continue after failures, and list them. */
  readonly all: boolean;
  /** The only seed to execute. */
  readonly seed: number | null;
  readonly mutants: boolean;
  /** Only mutants whose file or name contains this text. */
  readonly only: string;
  /** Save the case that catches each mutant. */
  readonly keep: boolean;
  readonly sweep: boolean;
  /** The number of processes. */
  readonly workers: number;
  readonly kinds: Kinds;
  /** The folder of another built engine. */
  readonly dist: string | null;
}

const HELP = `npm run sim -- [options]
  --seeds N     number of seeds (1500)
  --from S      the first seed (1)
  --all         continue after failed seeds, and list them
  --seed N      execute one seed, print its trace, and shrink its case if it fails
  --mutants     plant each bug and print the seed that finds it; --only TEXT selects mutants by file or name
                --keep searches --seeds seeds, and saves the case that catches a mutant in test/sim/cases
  --sweep       inject every fault into every store call of fixed programs
  --workers N   number of processes (2)
  --kernel      generate programs of kernel operations only
  --dist PATH   use another built engine`;

const KNOWN = {
  seeds: { type: "string", default: "1500" },
  from: { type: "string", default: "1" },
  all: { type: "boolean", default: false },
  seed: { type: "string" },
  mutants: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  keep: { type: "boolean", default: false },
  sweep: { type: "boolean", default: false },
  workers: { type: "string", default: "2" },
  dist: { type: "string" },
  kernel: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

export function readOptions(args: readonly string[]): SimOptions {
  const values = read(args);
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  return {
    seeds: positiveInteger(values.seeds, "--seeds"),
    from: positiveInteger(values.from, "--from"),
    all: values.all,
    seed: values.seed === undefined ? null : positiveInteger(values.seed, "--seed"),
    mutants: values.mutants,
    only: values.only,
    keep: values.keep,
    sweep: values.sweep,
    workers: positiveInteger(values.workers, "--workers"),
    kinds: values.kernel ? "kernel" : "all",
    dist: values.dist ?? null,
  };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: KNOWN }).values;
  } catch (error) {
    return exitWithUsageError(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
  }
}

function positiveInteger(text: string, option: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  return exitWithUsageError(`${option} must be an integer above 0; got ${text}`);
}

function exitWithUsageError(text: string): never {
  console.error(text);
  process.exit(2);
}
