import type { StartedBy, Variables } from "../machine/state.ts";

/** What a process run is started with. */
export interface ProcessInput {
  readonly variables: Variables;
  readonly startedBy: StartedBy | null;
  /** What the business calls the instance. */
  readonly businessKey?: string;
  /** Of a run that was moved here from another version: where it goes on. */
  readonly migrated?: Migrated;
}

interface Migrated {
  /** The version that it was moved from. */
  readonly from: number;
  /** The state of the machine, as snapshots have it. */
  readonly machine: unknown;
  /** How often an operator had sent it another way before. */
  readonly editions: number;
}
