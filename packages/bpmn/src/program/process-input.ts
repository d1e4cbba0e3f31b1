import type { StartedBy, Variables } from "../machine/state.ts";

/** What a process run is started with. */
export interface ProcessInput {
  readonly variables: Variables;
  readonly startedBy: StartedBy | null;
  /** What the business calls the instance. */
  readonly businessKey?: string;
}
