import { PawlError } from "../../model/errors.ts";
import { type Failure, toError } from "../../model/failure.ts";
import { checkTarget, visibleRunId } from "../../model/names.ts";
import { kinds, optionTable, readOptions } from "../../model/option-check.ts";
import { ATTEMPTS_MAX } from "../../model/retry.ts";
import { isTerminal, type TerminalStatus } from "../../model/run.ts";
import type { Ctx, StepOptions, WaitOptions } from "../../workflow/ctx.ts";
import { Loop } from "../../workflow/structure.ts";
import { runOfStart, type SeenStart } from "../run-of-start.ts";
import type { Branch, ProgramSettings } from "./branch.ts";
import { loop } from "./loop.ts";

const RESULT_OPTIONS = optionTable<WaitOptions>("the wait", { name: kinds.name });

/** The first and the longest time between two reads. Each is twice the one before, so a read is late by at most the time waited so far. */
const FIRST_MS = 100;
const LONGEST_MS = 30_000;

/** A read is repeated while the store is unreachable. */
const PATIENT: StepOptions<RunEnd | SeenStart> = {
  timeout: "30 s",
  retryOnTimeout: true,
  retry: {
    maxAttempts: ATTEMPTS_MAX,
    initialMs: "1 s",
    maxMs: "1 minute",
    shouldRetry: (error) => (error as { readonly code?: unknown }).code !== "RUN_NOT_FOUND",
  },
};

interface RunEnd {
  readonly status: TerminalStatus;
  readonly value: unknown;
}

interface Position {
  readonly delayMs: number;
  /** The start that the first read has seen. The run may start again when it has ended. */
  readonly seen: SeenStart | null;
}

/**
 * Waits for the end of any run. Only a child reports its end to its parent, so the run is read in a loop, whose journal stays short. It is
 * suspended between the reads.
 */
export async function result<Output>(branch: Branch, runId: string, options?: WaitOptions): Promise<Output> {
  const { name = "result" } = readOptions(RESULT_OPTIONS, options);
  const id = checkTarget(runId);
  if (id === visibleRunId(branch.host.runId))
    throw new PawlError("OPTION_INVALID", `run ${id} cannot wait for its own result; pass the id of another run`);
  const end = await loop<Position, RunEnd>(branch, {
    name,
    state: { delayMs: FIRST_MS, seen: null },
    commitInterval: 5,
    historyKeep: 0,
    run: async (ctx: Ctx, { delayMs, seen }: Position) => {
      const found = await ctx.step("read", () => readRun(branch.settings, id, seen), PATIENT);
      if ("status" in found) return Loop.break(found);
      await ctx.sleep(delayMs);
      return Loop.continue({ delayMs: Math.min(delayMs * 2, LONGEST_MS), seen: found });
    },
  });
  if (end.status === "completed") return end.value as Output;
  const [code, how] = end.status === "failed" ? (["RUN_FAILED", "failed"] as const) : CANCELLED;
  const why = end.value instanceof Error ? `: ${end.value.message}` : "";
  throw new PawlError(code, `run ${id} ${how}${why}`, { cause: end.value });
}

const CANCELLED = ["RUN_CANCELLED", "was cancelled"] as const;

/** The end of the run, or the start that is open. */
async function readRun(
  { store, codec }: ProgramSettings,
  id: string,
  seen: SeenStart | null,
): Promise<RunEnd | SeenStart> {
  const run = await runOfStart(store.reader, id, seen);
  if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${id} not found; check the id`);
  if (!isTerminal(run.status)) return { startId: run.startId, generation: run.generation };
  const value = codec.decode(run.outcome);
  return {
    status: run.status,
    value: run.status === "completed" || value === undefined ? value : toError(value as Failure),
  };
}
