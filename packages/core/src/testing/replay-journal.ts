import { PawlError } from "../model/errors.ts";
import { createCodec } from "../model/payload.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { type ExportedRun, exportValues, type RunExport, readExport } from "../operator/run-export.ts";
import { type DryRunResult, dryRun } from "../runner/dry-run.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { describeOpen } from "../runner/replay.ts";
import { trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Loaded } from "../store/store.ts";
import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { virtualWorld } from "./virtual-world.ts";
import { programSettings } from "./wrapped-program.ts";

/** The result of replaying an exported journal. */
export interface ReplayedJournal {
  readonly runId: string;
  readonly records: number;
  /**
   * - `completed`, `failed`: the code ends.
   * - `open`: the code requests an operation after the last record.
   * - `compensating`: the code undoes its steps.
   */
  readonly end: "completed" | "failed" | "open" | "compensating";
  /** The output of the code if it completes. */
  readonly output: unknown;
}

/**
 * Replays an exported run with a workflow, without executing a step. Rejects with `HISTORY_DIVERGED` if the code requests another
 * operation than the journal has, or ends differently. An open run in production would diverge in the same way.
 *
 * ```ts
 * await replayJournal(order, readFileSync("histories/order-1.json", "utf8"));
 * ```
 */
export async function replayJournal<Input, Output>(
  workflow: Workflow<Input, Output>,
  exported: RunExport | string,
): Promise<ReplayedJournal> {
  const any = checkWorkflow(workflow as unknown as AnyWorkflow);
  const run = readExport(exported).runs.find((each) => each.workflow === any.name);
  if (run === undefined) throw new PawlError("WORKFLOW_UNKNOWN", `the export has no run of workflow ${any.name}`);
  const rejections = trackUnhandledRejections(() => undefined);
  try {
    // The journal of another version is replayed with this version on purpose.
    const loaded = loadedOf({ ...run, version: any.version });
    const world = virtualWorld({ now: run.createdAt });
    const settings = programSettings({ store: memoryStore(), world, log: () => undefined });
    const program = new ProgramRegistry([any], settings).of(loaded.run);
    if (program === null) throw new PawlError("WORKFLOW_UNKNOWN", `workflow ${any.name} is not registered`);
    const { codec } = settings;
    const result = await dryRun(
      { codec, eventLoop: world.eventLoop, random: world.random, watched: rejections.watched },
      loaded,
      program,
    );
    return checked(run, result);
  } finally {
    rejections.stop();
  }
}

/** Converts the result of the dry run. Throws if it does not match the exported run. */
function checked(run: ExportedRun, result: DryRunResult): ReplayedJournal {
  const facts = { runId: run.id, records: run.records.length };
  switch (result.kind) {
    case "diverged": {
      const { location, seq, recorded, requested } = result.divergence;
      throw diverged(run, `at ${location} the journal has ${recorded} (record ${seq}), the code requests ${requested}`);
    }
    case "compensating":
      return { ...facts, end: "compensating", output: undefined };
    case "open":
      if (run.status === "completed" || run.status === "failed")
        throw diverged(run, `the run is ${run.status}, the code requests ${describeOpen(result.open)}`);
      return { ...facts, end: "open", output: undefined };
    case "broken":
      if (run.status === "failed") return { ...facts, end: "failed", output: undefined };
      throw result.error;
    case "ended":
      return { ...facts, ...ended(run, result.ending) };
  }
}

function ended(
  run: ExportedRun,
  ending: Extract<DryRunResult, { kind: "ended" }>["ending"],
): Pick<ReplayedJournal, "end" | "output"> {
  if (ending.kind === "continued") return { end: "open", output: undefined };
  if (isTerminal(run.status) && run.status !== "cancelled" && run.status !== ending.kind)
    throw diverged(run, `the run is ${run.status}, the code is ${ending.kind}`);
  if (ending.kind === "failed") return { end: "failed", output: undefined };
  if (run.status === "completed" && textOf(ending.output) !== textOf(exportedOutput(run)))
    throw diverged(run, `the run returned ${textOf(exportedOutput(run))}, the code returns ${textOf(ending.output)}`);
  return { end: "completed", output: ending.output };
}

const BYTES_MAX = Number.MAX_SAFE_INTEGER;
const PLAIN = createCodec(null, { bytesMax: BYTES_MAX, warnBytes: BYTES_MAX, onLarge: () => undefined });

function exportedOutput({ outcome }: ExportedRun): unknown {
  return PLAIN.decode(exportValues(null).in(outcome));
}

function textOf(value: unknown): string {
  return PLAIN.encode(value, "output") ?? "undefined";
}

function loadedOf(exported: ExportedRun): Loaded {
  const values = exportValues(null);
  const { input, outcome, records, inbox: _, startAt, ...rest } = exported;
  const fixed = {
    owner: null,
    epoch: 1,
    turn: 0,
    wakeAt: startAt,
    wait: null,
    inboxLast: 0,
    claims: 1,
    claimSeq: 0,
  } as const;
  const run: Run = { ...rest, ...fixed, input: values.in(input), outcome: values.in(outcome) };
  const journal = records.map(({ value, ...record }) => ({ ...record, payload: values.in(value) }));
  return { run, snapshot: null, records: journal, inbox: [] };
}

function diverged({ id, workflow }: ExportedRun, difference: string): PawlError {
  return new PawlError("HISTORY_DIVERGED", `run ${id} of ${workflow}: ${difference}`);
}
