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
import { virtualWorld } from "./virtual-world.ts";
import { programSettings } from "./wrapped-program.ts";

/** Where code comes to that is fed a journal from before. */
export interface ReplayedJournal {
  readonly runId: string;
  readonly records: number;
  /** `open`: it asks for what the journal does not hold yet. `undoing`: what it did is being undone. */
  readonly end: "completed" | "failed" | "open" | "undoing";
  /** Of a completed run. */
  readonly output: unknown;
}

/**
 * Feeds a run that was exported to the code of today. No step runs. Rejects with code `HISTORY_DIVERGED` where the code asks for
 * something else than the journal holds, or comes to another end: what a run that is open in production would do, too.
 *
 * ```ts
 * await replayJournal(order, readFileSync("histories/order-1.json", "utf8"));
 * ```
 */
export async function replayJournal<Input, Output>(
  workflow: Workflow<Input, Output>,
  exported: RunExport | string,
): Promise<ReplayedJournal> {
  const any = workflow as unknown as AnyWorkflow;
  const run = readExport(exported).runs.find((each) => each.workflow === any.name);
  if (run === undefined) throw new PawlError("WORKFLOW_UNKNOWN", `the export holds no run of workflow ${any.name}`);
  const strays = trackUnhandledRejections(() => undefined);
  try {
    // A journal of another version is fed to this one: that is what is asked.
    const loaded = loadedOf({ ...run, version: any.version });
    const world = virtualWorld({ now: run.createdAt });
    const settings = programSettings({ store: memoryStore(), world, log: () => undefined });
    const program = new ProgramRegistry([any], settings).of(loaded.run);
    if (program === null) throw new PawlError("WORKFLOW_UNKNOWN", `there is no code for workflow ${any.name}`);
    const { codec } = settings;
    const rehearsed = await dryRun(
      { codec, eventLoop: world.eventLoop, random: world.random, watched: strays.watched },
      loaded,
      program,
    );
    return judged(run, rehearsed);
  } finally {
    strays.stop();
  }
}

function judged(run: ExportedRun, rehearsed: DryRunResult): ReplayedJournal {
  const found = { runId: run.id, records: run.records.length };
  switch (rehearsed.kind) {
    case "diverged": {
      const { location, seq, recorded, asked } = rehearsed.divergence;
      throw parted(run, `at ${location} the journal holds ${recorded} (record ${seq}), and the code asks for ${asked}`);
    }
    case "compensating":
      return { ...found, end: "undoing", output: undefined };
    case "open":
      if (run.status === "completed" || run.status === "failed")
        throw parted(run, `the run is ${run.status}, and the code asks for ${describeOpen(rehearsed.open)}`);
      return { ...found, end: "open", output: undefined };
    case "ended":
      return { ...found, ...ended(run, rehearsed.ending) };
  }
}

function ended(
  run: ExportedRun,
  ending: Extract<DryRunResult, { kind: "ended" }>["ending"],
): Pick<ReplayedJournal, "end" | "output"> {
  if (ending.kind === "continued") return { end: "open", output: undefined };
  if (isTerminal(run.status) && run.status !== "cancelled" && run.status !== ending.kind)
    throw parted(run, `the run is ${run.status}, and the code comes to its end ${ending.kind}`);
  if (ending.kind === "failed") return { end: "failed", output: undefined };
  if (run.status === "completed" && textOf(ending.output) !== textOf(exportedOutput(run)))
    throw parted(run, `the run gave ${textOf(exportedOutput(run))}, and the code gives ${textOf(ending.output)}`);
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

function parted({ id, workflow }: ExportedRun, how: string): PawlError {
  return new PawlError("HISTORY_DIVERGED", `run ${id} of ${workflow}: ${how}`);
}
