import type { Interpreter } from "./runner/session-world.ts";
import type { Hint } from "./store/store.ts";

export interface Heeding {
  readonly worker: string;
  readonly sessions: { get(runId: string): Pick<Interpreter, "resting"> | undefined };
  readonly workshop: {
    /** Whether this worker is about to begin the run. */
    expects(runId: string): boolean;
    /** Reads what has come for a run that this worker owns. */
    arrived(runId: string): void;
  };
  /** Looks for whatever is due. */
  readonly ownership: { kick(): void };
}

/**
 * What a hint means to a worker. Where the store tells who owns a run, what has come for a hot one is read without asking what is
 * due, and what others own is theirs to see. What a worker has in its hands it needs no hint for.
 */
export function heedHint({ runIds, owners }: Hint, { worker, sessions, workshop, ownership }: Heeding): void {
  if (runIds === null) {
    ownership.kick();
    return;
  }
  let looks = false;
  let index = 0;
  for (const runId of runIds) {
    const owner = owners?.[index];
    index += 1;
    const session = sessions.get(runId);
    if (workshop.expects(runId)) continue;
    if (owner === worker && session !== undefined) workshop.arrived(runId);
    else if (owner === worker || ((owner === undefined || owner === null) && session?.resting !== false)) looks = true;
  }
  if (looks) ownership.kick();
}
