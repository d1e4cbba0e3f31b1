import type { Codec } from "../model/payload.ts";
import type { Completions } from "./completions.ts";
import type { Draft } from "./draft.ts";
import type { Limits } from "./limits.ts";
import type { OpenCommands } from "./open-commands.ts";
import type { Standstill } from "./standstill.ts";
import type { Steps } from "./steps.ts";
import type { Trail } from "./trail.ts";
import type { UndoLog } from "./undo-log.ts";

/** What a session works with: what was asked for, what has come of it, what runs, and what is to be written. */
export interface Desk {
  readonly open: OpenCommands;
  readonly completions: Completions;
  readonly steps: Steps;
  readonly draft: Draft;
  readonly codec: Codec;
  readonly trail: Trail;
  readonly undo: UndoLog;
  readonly standstill: Standstill;
  /** Null: the run has none. */
  readonly limits: Limits | null;
  /** How often operators have sent the run another way. */
  readonly edition: number;
  /** When one last did. */
  readonly turnedAt: number | null;
}
