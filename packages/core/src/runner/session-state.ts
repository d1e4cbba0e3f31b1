import type { Codec } from "../model/payload.ts";
import type { Completions } from "./completions.ts";
import type { Limits, ProgressClock } from "./limits.ts";
import type { LoopRecords } from "./loop-records.ts";
import type { OpenCommands } from "./open-commands.ts";
import type { PendingAppend } from "./pending-append.ts";
import type { StepRunner } from "./step-runner.ts";
import type { UndoLog } from "./undo-log.ts";

/** What a session works with: what was asked for, what has come of it, what runs, and what is to be written. */
export interface SessionState {
  readonly open: OpenCommands;
  readonly completions: Completions;
  readonly steps: StepRunner;
  readonly pending: PendingAppend;
  readonly codec: Codec;
  readonly loopRecords: LoopRecords;
  readonly undo: UndoLog;
  readonly progress: ProgressClock;
  /** Null: the run has none. */
  readonly limits: Limits | null;
  /** How often operators have sent the run another way. */
  readonly edition: number;
  /** When one last did. */
  readonly turnedAt: number | null;
}
