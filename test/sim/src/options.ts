import { parseArgs } from "node:util";
import type { Kinds } from "./generate-leaves.ts";

export interface SimOptions {
  readonly seeds: number;
  readonly from: number;
  /** Goes on past failures, and lists them. */
  readonly all: boolean;
  /** Repeats this one. */
  readonly seed: number | null;
  readonly mutants: boolean;
  /** Only mutants whose file or name holds this. */
  readonly only: string;
  readonly sweep: boolean;
  /** Processes. */
  readonly workers: number;
  readonly kinds: Kinds;
  /** Another built engine. */
  readonly dist: string | null;
}

const HELP = `npm run sim -- [options]
  --seeds N     how many seeds (1500)
  --from S      the first seed (1)
  --all         goes on past seeds that fail, and lists them
  --seed N      one seed, with its trace, made small
  --mutants     plants each bug and says which seed found it; --only TEXT takes those with TEXT in their file or name
  --sweep       every call of the store × every fault over fixed programs
  --workers N   processes (2)
  --kernel      programs of what the kernel alone offers, as those of the older regressions are
  --dist PATH   another built engine`;

const KNOWN = {
  seeds: { type: "string", default: "1500" },
  from: { type: "string", default: "1" },
  all: { type: "boolean", default: false },
  seed: { type: "string" },
  mutants: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  sweep: { type: "boolean", default: false },
  workers: { type: "string", default: "2" },
  dist: { type: "string" },
  kernel: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

export function options(args: readonly string[]): SimOptions {
  const values = read(args);
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  return {
    seeds: whole(values.seeds, "--seeds"),
    from: whole(values.from, "--from"),
    all: values.all,
    seed: values.seed === undefined ? null : whole(values.seed, "--seed"),
    mutants: values.mutants,
    only: values.only,
    sweep: values.sweep,
    workers: whole(values.workers, "--workers"),
    kinds: values.kernel ? "kernel" : "all",
    dist: values.dist ?? null,
  };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: KNOWN }).values;
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
  }
}

function whole(text: string, option: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  return refuse(`${option} is ${text}; it has to be a whole number above 0`);
}

function refuse(text: string): never {
  console.error(text);
  process.exit(2);
}
