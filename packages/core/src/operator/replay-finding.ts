import { PawlError } from "../model/errors.ts";
import type { OpenWait, Run } from "../model/run.ts";
import { type DryRunResult, type DryRunServices, dryRun } from "../runner/dry-run.ts";
import { waitSinceProgress } from "../runner/limits.ts";
import type { OpenCommandView } from "../runner/open-commands.ts";
import type { ProgramRegistry } from "../runner/program-registry.ts";
import { describe, describeOpen } from "../runner/replay.ts";
import type { Loaded, Store } from "../store/store.ts";
import type { Arm, Command } from "../workflow/command.ts";

/** A run that does not go on with the code that was tried, or goes on otherwise than it waits for. */
export interface ReplayFinding {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /**
   * `record`: the journal holds what the code does not ask for; the run would be paused, code `HISTORY_DIVERGED`.
   * `wait`: the run waits for something that the code does not ask for.
   * `standstill`: the code asks for nothing and has not come to its end.
   * `version`: this version of the workflow is not among the code.
   * `unreadable`: the input or a record can't be read.
   */
  readonly kind: "record" | "wait" | "standstill" | "version" | "unreadable";
  /** Empty where the finding is about the run as a whole. */
  readonly location: string;
  /** The record, where it is about one. */
  readonly seq: number | null;
  readonly recorded: string;
  readonly asked: string;
  readonly message: string;
}

type What = Omit<ReplayFinding, "runId" | "workflow" | "version" | "message">;

export interface FindingParts {
  readonly store: Pick<Store, "load">;
  readonly programs: ProgramRegistry;
  readonly world: DryRunServices;
}

/** What becomes of a run with this code; null: it goes on, or it has ended meanwhile. */
export async function findIn({ store, programs, world }: FindingParts, run: Run): Promise<ReplayFinding | null> {
  const loaded = await store.load(run.id);
  return loaded === null ? null : await tryOut(loaded, programs, world);
}

export async function tryOut(
  loaded: Loaded,
  programs: ProgramRegistry,
  world: DryRunServices,
): Promise<ReplayFinding | null> {
  const { run } = loaded;
  const program = programs.of(run);
  if (program === null) {
    const recorded = `${run.workflow}, version ${run.version}`;
    return finding(run, { kind: "version", location: "", seq: null, recorded, asked: "no code for this version" });
  }
  try {
    // A session that is at work writes its row later than its records.
    const standing = { ...run, wait: waitSinceProgress(run, loaded.records) };
    const what = judge(standing, await dryRun(world, loaded, program));
    return what === null ? null : finding(run, what);
  } catch (error) {
    const asked = error instanceof PawlError ? `${error.code}: ${error.message}` : String(error);
    return finding(run, { kind: "unreadable", location: "", seq: null, recorded: "what can't be read", asked });
  }
}

function judge(run: Run, rehearsed: DryRunResult): What | null {
  switch (rehearsed.kind) {
    case "diverged":
      return { kind: "record", ...rehearsed.divergence };
    case "compensating":
      return null;
    case "ended":
      return missed(run, new Map(), rehearsed.ending.kind === "failed" ? failing(rehearsed.ending.error) : "its end");
    case "open": {
      const { open } = rehearsed;
      if (open.size > 0) return missed(run, open, describeOpen(open));
      const recorded = run.wait?.open[0] === undefined ? "the end of the journal" : described(run.wait.open[0]);
      const location = run.wait?.open[0]?.location ?? "";
      return { kind: "standstill", location, seq: null, recorded, asked: "nothing" };
    }
  }
}

/** The first thing that the run waits for and the code does not. */
function missed(run: Run, open: Pick<OpenCommandView, "get">, asked: string): What | null {
  for (const wait of run.wait?.open ?? []) {
    const command = open.get(wait.location);
    const what = { kind: "wait", location: wait.location, seq: null, recorded: described(wait) } as const;
    if (command === undefined) return { ...what, asked };
    if (!isSame(wait, command)) return { ...what, asked: describedCommand(command) };
  }
  return null;
}

/** A deadline may be another: it is the code's to say. */
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

function finding({ id, workflow, version }: Run, what: What): ReplayFinding {
  const where = what.location === "" ? "" : `at ${what.location} `;
  const seq = what.seq === null ? "" : ` (record ${what.seq})`;
  const message = `run ${id} of ${workflow}: ${where}the run has ${what.recorded}${seq}, the code asks for ${what.asked}`;
  return { runId: id, workflow, version, ...what, message };
}
