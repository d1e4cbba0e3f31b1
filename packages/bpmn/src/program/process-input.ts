import type { StartedBy, Variables } from "../machine/state.ts";

/** The input of a process run. */
export interface ProcessInput {
  readonly variables: Variables;
  readonly startedBy: StartedBy | null;
  readonly businessKey?: string;
  /** The user who started the instance. Called instances have the same one. */
  readonly by?: string;
  /** Tasks without a priority of their own have this one. Called instances too. */
  readonly priority?: number;
  /** The state to continue from, for a run that was migrated from another version. */
  readonly migrated?: Migrated;
}

interface Migrated {
  /** The version that the run was migrated from. */
  readonly from: number;
  /** The machine state, in the format of snapshots. */
  readonly machine: unknown;
  /** How often the journal had been rewritten by a rewind, retry or fork. */
  readonly editions: number;
}
