import type { Codec } from "../model/payload.ts";
import type { Completions } from "./completions.ts";
import type { Limits, ProgressClock } from "./limits.ts";
import type { LoopRecords } from "./loop-records.ts";
import type { OpenCommands } from "./open-commands.ts";
import type { PendingAppend } from "./pending-append.ts";
import type { StepRunner } from "./step-runner.ts";
import type { UndoLog } from "./undo-log.ts";

/** The parts of a session: open commands, completions, running steps, and what the next commit adds. */
export interface SessionState {
  readonly open: OpenCommands;
  readonly completions: Completions;
  readonly steps: StepRunner;
  readonly pending: PendingAppend;
  readonly codec: Codec;
  readonly loopRecords: LoopRecords;
  readonly undo: UndoLog;
  readonly progress: ProgressClock;
  /** Null if the run has no limits. */
  readonly limits: Limits | null;
  /** How many operator actions have redirected the run: rewind, retry, fork. */
  readonly edition: number;
  /** The time of the last such action. Null if there was none. */
  readonly redirectedAt: number | null;
}
