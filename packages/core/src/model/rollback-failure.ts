import { type Failure, isFailure } from "./failure.ts";
import type { Codec } from "./payload.ts";
import type { Payload } from "./run.ts";

/** A rollback that failed for good: what its step did was not undone. */
export interface RollbackFailure {
  /** The location of the step. */
  readonly step: string;
  readonly error: Error;
}

/** Under which name a run's failure holds the failures of its rollbacks. */
const DETAIL = "rollbackFailures";

/** The failure with what could not be undone. `reason` is null where a run was cancelled without one. */
export function withRollbackFailures(codec: Codec, reason: Payload, failures: readonly RollbackFailure[]): Payload {
  if (failures.length === 0) return reason;
  const decoded = codec.decode(reason);
  const failure: Failure = isFailure(decoded)
    ? decoded
    : { name: "PawlError", code: "RUN_CANCELLED", message: "the run was cancelled" };
  const whole = { ...failure, details: { ...failure.details, [DETAIL]: failures } };
  try {
    return codec.encode(whole, "failures of rollbacks");
  } catch {
    return codec.encode({ ...failure, details: { [DETAIL]: failures.map(brief) } }, "failures of rollbacks");
  }
}

/**
 * What a run could not undo: of the error that `result()` rejects with, or of the one in a run's row. Empty if everything was
 * undone.
 */
export function rollbackFailures(error: unknown): readonly RollbackFailure[] {
  for (let current = error; typeof current === "object" && current !== null; ) {
    const found = (current as Record<string, unknown>)[DETAIL];
    if (Array.isArray(found)) return found as readonly RollbackFailure[];
    current = (current as { readonly cause?: unknown }).cause;
  }
  return [];
}

function brief({ step, error }: RollbackFailure): RollbackFailure {
  return { step, error: new Error(error.message.slice(0, 200)) };
}
