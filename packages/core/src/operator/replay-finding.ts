import { PawlError } from "../model/errors.ts";
import type { OpenWait, Run } from "../model/run.ts";
import { type DryRunResult, type DryRunServices, dryRun } from "../runner/dry-run.ts";
import { waitSinceProgress } from "../runner/limits.ts";
import type { OpenCommandView } from "../runner/open-commands.ts";
import type { ProgramRegistry } from "../runner/program-registry.ts";
import { unreadableLocation } from "../runner/read-payload.ts";
import { describe, describeOpen } from "../runner/replay.ts";
import type { Loaded, Store } from "../store/store.ts";
import type { Arm, Command } from "../workflow/command.ts";

/** A run that could not continue with the checked code, or would wait for something else. */
export interface ReplayFinding {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /**
   * - `record`: the code does not request the operation of a record. The run would be paused with `HISTORY_DIVERGED`.
   * - `wait`: the code does not request a wait that the run has open.
   * - `standstill`: the code has not ended and requests nothing.
   * - `version`: no given workflow has this name and version.
   * - `unreadable`: the input or a record cannot be decoded.
   * - `codeError`: the code throws a programming error. The run would be paused with `CODE_ERROR`.
   */
  readonly kind: "record" | "wait" | "standstill" | "version" | "unreadable" | "codeError";
  /** Empty if the finding concerns the run as a whole. */
  readonly location: string;
  /** The seq of the record. Null if the finding does not concern a record. */
  readonly seq: number | null;
  /** The recorded operation. */
  readonly recorded: string;
  /** The operation that the code requests. */
  readonly requested: string;
  readonly message: string;
}

type Mismatch = Omit<ReplayFinding, "runId" | "workflow" | "version" | "message">;

export interface CheckParts {
  readonly store: Pick<Store, "load">;
  readonly programs: ProgramRegistry;
  readonly services: DryRunServices;
}

/** Loads a run and replays it. Null if the run can continue with this code, or has been removed since it was listed. */
export async function checkRun({ store, programs, services }: CheckParts, run: Run): Promise<ReplayFinding | null> {
  const loaded = await store.load(run.id);
  return loaded === null ? null : await checkLoaded(loaded, programs, services);
}

export async function checkLoaded(
  loaded: Loaded,
  programs: ProgramRegistry,
  services: DryRunServices,
): Promise<ReplayFinding | null> {
  const { run } = loaded;
  const program = programs.of(run);
  if (program === null) {
    const recorded = `${run.workflow}, version ${run.version}`;
    return finding(run, { kind: "version", location: "", seq: null, recorded, requested: "no code for this version" });
  }
  try {
    // A working session commits records before it updates its row, so the wait in the row may be outdated.
    const current = { ...run, wait: waitSinceProgress(run, loaded.records) };
    const mismatch = mismatchOf(current, await dryRun(services, loaded, program));
    return mismatch === null ? null : finding(run, mismatch);
  } catch (error) {
    const requested = error instanceof PawlError ? `${error.code}: ${error.message}` : String(error);
    const location = (error instanceof PawlError ? unreadableLocation(error) : null) ?? "";
    return finding(run, { kind: "unreadable", location, seq: null, recorded: "an unreadable journal", requested });
  }
}

function mismatchOf(run: Run, result: DryRunResult): Mismatch | null {
  switch (result.kind) {
    case "diverged":
      return { kind: "record", ...result.divergence };
    case "compensating":
      return null;
    case "broken": {
      const [wait] = run.wait?.open ?? [];
      const recorded = wait === undefined ? "the end of the journal" : described(wait);
      const requested = failing(result.error.cause ?? result.error);
      return { kind: "codeError", location: wait?.location ?? "", seq: null, recorded, requested };
    }
    case "ended":
      return missingWait(run, new Map(), result.ending.kind === "failed" ? failing(result.ending.error) : "its end");
    case "open": {
      const { open } = result;
      if (open.size > 0) return missingWait(run, open, describeOpen(open));
      const recorded = run.wait?.open[0] === undefined ? "the end of the journal" : described(run.wait.open[0]);
      const location = run.wait?.open[0]?.location ?? "";
      return { kind: "standstill", location, seq: null, recorded, requested: "nothing" };
    }
  }
}

/** The first open wait of the run that the code does not request. */
function missingWait(run: Run, open: Pick<OpenCommandView, "get">, requested: string): Mismatch | null {
  for (const wait of run.wait?.open ?? []) {
    const command = open.get(wait.location);
    const what = { kind: "wait", location: wait.location, seq: null, recorded: described(wait) } as const;
    if (command === undefined) return { ...what, requested };
    if (!isSame(wait, command)) return { ...what, requested: describedCommand(command) };
  }
  return null;
}

/** Deadlines are not compared: new code may change them. */
function isSame(wait: OpenWait, command: Command): boolean {
  if (wait.kind === "retry") return command.kind === "step";
  if (command.record !== wait.kind) return false;
  const names = new Set(command.kind === "wait" ? command.arms.map((arm) => `${arm.kind} ${armName(arm)}`) : []);
  return (wait.arms ?? []).every(({ kind, name }) => names.has(`${kind} ${name}`));
}

function armName(arm: Arm): string {
  switch (arm.kind) {
    case "message":
      return arm.name;
    case "event":
      return arm.topic;
    case "child":
      return arm.location;
  }
}

function described({ kind, location, arms }: OpenWait): string {
  const what = kind === "retry" ? "step" : kind;
  return `${what} at ${location}${forArms((arms ?? []).map((arm) => `${arm.kind} ${arm.name}`))}`;
}

function describedCommand(command: Command): string {
  const arms = command.kind === "wait" ? command.arms.map((arm) => `${arm.kind} ${armName(arm)}`) : [];
  return `${describe(command)}${forArms(arms)}`;
}

function forArms(arms: readonly string[]): string {
  return arms.length === 0 ? "" : ` for ${arms.join(", ")}`;
}

function failing(error: unknown): string {
  return `its end: it fails with ${error instanceof Error ? error.message : String(error)}`;
}

function finding({ id, workflow, version }: Run, mismatch: Mismatch): ReplayFinding {
  const { location, recorded, requested } = mismatch;
  const where = location === "" ? "" : `at ${location} `;
  const seq = mismatch.seq === null ? "" : ` (record ${mismatch.seq})`;
  const message = `run ${id} of ${workflow}: ${where}the run has ${recorded}${seq}, the code requests ${requested}`;
  return { runId: id, workflow, version, ...mismatch, message };
}
