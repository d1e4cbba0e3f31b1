import type { JournalRecord, RecordKind } from "../model/record.ts";
import type { Log } from "../runtime/log.ts";
import type { ProgramIncident } from "../workflow/program.ts";

/** Counts of what this engine noticed since it was created. */
export interface EngineMetrics {
  /** Runs that failed. */
  readonly failedRuns: number;
  /** Steps, transactions and rollbacks that failed after their last attempt. */
  readonly failedSteps: number;
  /** Incidents of processes. */
  readonly incidents: number;
  /** How often the lease of this worker expired. */
  readonly lostLeases: number;
}

interface RunName {
  readonly id: string;
  readonly workflow: string;
}

const RUN_TEXT = "run failed; read its journal, then continue it with retry, or rewind it";
const STEP_TEXT = "step failed after its last attempt; the run fails unless its code handles the error";
const ROLLBACK_TEXT = "rollback failed after its last attempt; undo its step yourself, or retry the run";
const INCIDENT_TEXT = "incident: an element cannot continue; correct the cause, then retry or skip the element";
const MORE_TEXT = "more failures; they are counted, and not logged until the minute ends";

/** The lines of one text in a window. A failing dependency fails thousands of runs at once. */
const LINES_MAX = 20;
const WINDOW_MS = 60_000;

const STEPS: ReadonlySet<RecordKind> = new Set(["step", "transaction", "rollback"]);

/** Whether the record is the end of a step body that failed. */
export function isFailedStep({ kind, outcome, attempts }: JournalRecord): boolean {
  return outcome === "failed" && attempts > 0 && STEPS.has(kind);
}

/**
 * Logs and counts the failures of runs and steps.
 *
 * 1. Each failure is counted once, and has at most one line.
 * 2. A window has at most LINES_MAX lines of a text, then one line that announces that more are omitted. The first line of the next
 *    window contains their number.
 */
export class FailureLog {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #windows = new Map<string, { readonly since: number; lines: number; omitted: number }>();
  #failedRuns = 0;
  #failedSteps = 0;
  #incidents = 0;
  #lostLeases = 0;

  constructor(log: Log, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  get metrics(): EngineMetrics {
    return {
      failedRuns: this.#failedRuns,
      failedSteps: this.#failedSteps,
      incidents: this.#incidents,
      lostLeases: this.#lostLeases,
    };
  }

  /** The worker has a line for it. */
  leaseLost(): void {
    this.#lostLeases += 1;
  }

  runFailed({ id: run, workflow }: RunName, error: () => Error | null): void {
    this.#failedRuns += 1;
    this.#line("error", RUN_TEXT, () => ({ run, workflow, ...described(error()) }));
  }

  stepFailed({ id: run, workflow }: RunName, record: JournalRecord, error: () => Error | null): void {
    this.#failedSteps += 1;
    const { kind, location, attempts } = record;
    const text = kind === "rollback" ? ROLLBACK_TEXT : STEP_TEXT;
    this.#line("warn", text, () => ({ run, workflow, location, attempts, ...described(error()) }));
  }

  incident({ id: run, workflow }: RunName, { element, reason, message: error }: ProgramIncident): void {
    this.#incidents += 1;
    this.#line("warn", INCIDENT_TEXT, () => ({ run, workflow, element, reason, error }));
  }

  #line(level: "warn" | "error", text: string, fields: () => Readonly<Record<string, unknown>>): void {
    const now = this.#now();
    let window = this.#windows.get(text);
    const omitted = window?.omitted ?? 0;
    const isOver = window !== undefined && Math.abs(now - window.since) >= WINDOW_MS;
    if (window === undefined || isOver) {
      window = { since: now, lines: 0, omitted: 0 };
      this.#windows.set(text, window);
    }
    window.lines += 1;
    if (window.lines <= LINES_MAX) this.#log(level, text, isOver && omitted > 0 ? { ...fields(), omitted } : fields());
    else window.omitted += 1;
    if (window.lines === LINES_MAX + 1) this.#log(level, MORE_TEXT, { of: text });
  }
}

function described(error: Error | null): Readonly<Record<string, unknown>> {
  if (error === null) return {};
  const { code } = error as { readonly code?: unknown };
  return { error: error.message, ...(code === undefined ? {} : { code }) };
}
